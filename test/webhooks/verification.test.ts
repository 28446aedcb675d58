import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createVerification, toDeliverySecret, type VerificationSettings } from '../../src/webhooks/verification.js';
import { secretId } from './ingress-stand.js';

const older = '5d8d8b4a-1a2b-4c3d-8e9f-001122334455';
const text = '{"order_id":"4711","auth":{"secret":"s"}}';

interface Case {
  headers?: Record<string, string>;
  body?: object;
  secrets?: string[];
  isSecretLost?: boolean;
  hasUnreadableSecret?: boolean;
}

function verdict(settings: VerificationSettings, given: Case = {}) {
  const { headers = {}, body = {}, secrets = [secretId], isSecretLost = false, hasUnreadableSecret = false } = given;
  const delivery = { headers, body: { ...body }, rawBody: Buffer.from(text) };
  const accepted = { secrets: secrets.map(toDeliverySecret), isSecretLost, hasUnreadableSecret };
  return createVerification(settings).verify(delivery, accepted);
}

const mac = (key: string, encoding: 'hex' | 'base64') => createHmac('sha256', key).update(text).digest(encoding);
const header: VerificationSettings = { mode: 'header', name: 'X-Secret' };
const inBody: VerificationSettings = { mode: 'body', pointer: '/auth/secret' };
const hmac = (over: object = {}): VerificationSettings => ({
  ...{ mode: 'hmac', header: 'X-Signature', algorithm: 'sha256', encoding: 'hex', prefix: '' },
  ...over,
});

const signed = (value: string): Case => ({ headers: { 'x-signature': value } });

it('says which header it reads, in any case, and whether it needs a secret', () => {
  expect(createVerification({ mode: 'path' })).toMatchObject({ needsSecret: false, headers: [] });
  expect(createVerification(header)).toMatchObject({ needsSecret: true, headers: ['x-secret'] });
});

it.each<[VerificationSettings, Case]>([
  [{ mode: 'path' }, { secrets: [] }],
  [header, { headers: { 'x-secret': secretId } }],
  [inBody, { body: { auth: { secret: secretId } } }],
  [hmac(), signed(mac(secretId, 'hex'))],
  [hmac(), signed(mac(secretId, 'hex').toUpperCase())],
  [hmac({ prefix: 'sha256=' }), signed(`sha256=${mac(secretId, 'hex')}`)],
  [hmac({ encoding: 'base64' }), signed(mac(secretId, 'base64'))],
])('%j verifies a delivery with %j', (settings, given) => {
  expect(verdict(settings, given)).toBe('verified');
});

it.each<[VerificationSettings, Case]>([
  [header, {}],
  ...['', `${secretId}x`, older].map((value): [VerificationSettings, Case] => [
    header,
    { headers: { 'x-secret': value } },
  ]),
  [header, { headers: { 'x-other': secretId } }],
  [inBody, {}],
  [inBody, { body: { auth: { secret: older } } }],
  [inBody, { body: { auth: { secret: [secretId] } } }],
  [inBody, { body: { auth: secretId } }],
  [inBody, { body: { secret: secretId } }],
  [hmac(), signed(mac(older, 'hex'))],
  [hmac(), signed(mac(secretId, 'hex').slice(2))],
  [hmac(), signed(`${mac(secretId, 'hex')}00`)],
  [hmac(), signed('')],
  [hmac(), signed(secretId)],
  [hmac({ prefix: 'sha256=' }), signed(mac(secretId, 'hex'))],
  [hmac({ encoding: 'base64' }), signed(mac(secretId, 'hex'))],
])('%j refuses a delivery with %j', (settings, given) => {
  expect(verdict(settings, given)).toBe('wrongSecret');
});

describe('what is accepted', () => {
  const settings = [header, inBody, hmac()];

  it.each(settings)('is each of several secrets: $mode', (each) => {
    const headers = { 'x-secret': older, 'x-signature': mac(older, 'hex') };
    expect(verdict(each, { headers, body: { auth: { secret: older } }, secrets: [secretId, older] })).toBe('verified');
  });

  it.each(settings)('is anything at an address whose secret was lost: $mode', (each) => {
    expect(verdict(each, { secrets: [], isSecretLost: true })).toBe('verified');
  });

  it.each(settings)('is undecided while no secret is stored, or none can be decrypted: $mode', (each) => {
    expect(verdict(each, { secrets: [] })).toBe('noSecretYet');
    expect(verdict(each, { hasUnreadableSecret: true })).toBe('noSecretYet');
  });
});
