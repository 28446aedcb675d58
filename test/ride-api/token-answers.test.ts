import fc from 'fast-check';
import { expect, it } from 'vitest';
import { toScope } from '../../src/domain/keys.js';
import { businessAccount } from './accounts.js';
import { answerJson, rideApi, serve } from './loopback-server.js';

const accessToken = 'eyJhbGciOi.SECRET.signature';
const wanted = 'finance order';

/** An answer with a token, and what a warning says of it. */
interface Spelling {
  fields: object;
  warns: RegExp[];
}

const types: Spelling[] = [
  ...[undefined, null, 'Bearer', 'bearer', 'BEARER'].map((token_type) => ({ fields: { token_type }, warns: [] })),
  ...['BearerToken', 'Bearer Token', ''].map((token_type) => ({
    fields: { token_type },
    warns: [new RegExp(`token_type is "${token_type}"`)],
  })),
  ...['mac', 7, {}, accessToken, businessAccount().clientSecret].map((token_type) => ({
    fields: { token_type },
    warns: [/token_type is not/],
  })),
];

const scopes: Spelling[] = [
  undefined,
  null,
  'finance order',
  'order finance extra',
  'order,finance',
  'order, finance',
  'order;finance',
  'order+finance',
  ' Order  FINANCE\n',
  ['order', 'finance'],
].map((scope) => ({ fields: { scope }, warns: [] }));
const fewer: Spelling[] = [
  ['', 'finance order'],
  ['order', 'finance'],
  ['order.read', 'finance order'],
  [[], 'finance order'],
  [accessToken, 'finance order'],
].map(([scope, missing]) => ({ fields: { scope }, warns: [new RegExp(`scope lacks ${missing}$`)] }));

const lifetimes: Spelling[] = [undefined, 899, '899', null, 'soon', -1].map((expires_in) => ({
  fields: { expires_in },
  warns: [],
}));

/** Fields of other dialects, and of errors that are none. */
const others: Spelling[] = [
  {},
  { refresh_token: 'r' },
  { error: null },
  { error: '' },
  { errors: [] },
  { status: 'ok' },
  { created_at: 1 },
].map((fields) => ({ fields, warns: [] }));

const spelling = fc.tuple(
  fc.constantFrom(...types),
  fc.constantFrom(...scopes, ...fewer),
  fc.constantFrom(...lifetimes),
  fc.constantFrom(...others),
);

it('a token that came serves, however the rest of the answer is spelt, and differences are named without it', async () => {
  let body: object = {};
  const base = await serve((_, response) => answerJson(response, 200, body));
  const api = rideApi();
  const account = businessAccount(base, base);
  const property = fc.asyncProperty(spelling, async (parts) => {
    body = Object.assign({ access_token: accessToken }, ...parts.map(({ fields }) => fields));
    const reply = await api.requestToken(account, toScope(wanted));
    expect(reply.accessToken).toBe(accessToken);
    const warned = reply.differences.join('\n');
    const expected = parts.flatMap(({ warns }) => warns);
    expect(reply.differences).toHaveLength(expected.length);
    for (const [index, one] of expected.entries()) expect(reply.differences[index]).toMatch(one);
    expect(warned).not.toContain('SECRET');
    expect(warned).not.toContain(account.clientSecret);
  });
  await fc.assert(property, { numRuns: 300 });
});
