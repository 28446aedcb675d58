import { createHmac } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import {
  type AcceptedProof,
  createVerification,
  type Judgement,
  type Proof,
  toDeliverySecret,
  type Verdict,
  type VerificationSettings,
} from '../../src/webhooks/verification.js';
import { byMac, secretId, signatureOf } from './ingress-stand.js';

const older = '5d8d8b4a-1a2b-4c3d-8e9f-001122334455';
const rawBody = Buffer.from('{"order_id":"4711","auth":{"secret":"s"}}');
const verified = { header: 'x-first', at: '2031-05-01T10:00:00.000Z', reportEveryMs: 3_600_000 };

function judge(
  settings: VerificationSettings,
  given: { headers?: object; rawBody?: Buffer; unpacked?: Buffer },
  over: Partial<AcceptedProof> = {},
): Judgement {
  const accepted = {
    ...{ secrets: [toDeliverySecret(secretId)], isSecretLost: false, hasUnreadableSecret: false, verified: null },
    ...over,
  };
  const delivery = { headers: {}, rawBody, unpacked: rawBody, ...given } as Proof;
  return createVerification(settings).verify(delivery, accepted);
}

const right = signatureOf(rawBody);
const mac = (key: string, encoding: 'hex' | 'base64' = 'hex') =>
  createHmac('sha256', key).update(rawBody).digest(encoding);
const packed = gzipSync(rawBody);
const many = (count: number, more: object) => ({
  ...Object.fromEntries(Array.from({ length: count }, (_, at) => [`x-${at}`, 'value'])),
  ...more,
});
const inHeader = (value: unknown) => ({ headers: { 'x-sig': value } });

type Row = [what: string, given: Parameters<typeof judge>[1], before: Verdict, after: Verdict];
const proof = ['verified', 'verified'] as const;
const none = ['admitted', 'wrongSecret'] as const;

it.each<Row>([
  ['the right signature', inHeader(right), ...proof],
  ['no header', {}, ...none],
  ['a signature over other bytes', inHeader(signatureOf(`${rawBody} `)), ...none],
  ['one right and one wrong header', { headers: { 'x-a': signatureOf('other'), 'x-b': right } }, ...proof],
  ['one header sent twice, wrong and right', inHeader(`${signatureOf('other')}, ${right}`), ...proof],
  ['a signature cut short', inHeader(right.slice(0, -5)), ...none],
  ['a longer one', inHeader(`${right}AA`), ...none],
  ["the former subscription's secret", inHeader(signatureOf(rawBody, older)), ...none],
  ['capitals in the prefix', inHeader(right.replace('sha256', 'SHA256')), ...proof],
  ['hexadecimal digits', inHeader(`sha256=${mac(secretId)}`), ...none],
  ['no prefix', inHeader(mac(secretId, 'base64')), ...none],
  ['no padding', inHeader(right.slice(0, -1)), ...proof],
  ['200 headers, the last one right', { headers: many(199, { 'x-sig': right }) }, ...proof],
  ['more headers than are searched', { headers: many(256, { 'x-sig': right }) }, ...none],
  ['a header of 60 kB', inHeader(`${'x'.repeat(60_000)},${right}`), ...none],
  ['a header of 60 kB beside the right one', { headers: { 'x-a': 'x'.repeat(60_000), 'x-sig': right } }, ...proof],
  ['a number', inHeader(4711), ...none],
  ['a list that holds it', inHeader(['x', right]), ...proof],
  ['a list of numbers', inHeader([1, 2]), ...none],
  ['a packed body signed as sent', { ...inHeader(signatureOf(packed)), rawBody: packed }, ...proof],
  ['a packed body signed before it was packed', { ...inHeader(right), rawBody: packed }, ...proof],
  ['a signature with an empty key', inHeader(signatureOf(rawBody, '')), ...none],
])('in mode signed %s counts as it should, before and after the first verified delivery', (_, given, before, after) => {
  const signed: VerificationSettings = { mode: 'signed' };
  expect(judge(signed, given).verdict).toBe(before);
  expect(judge(signed, given, { verified }).verdict).toBe(after);
});

it('an empty secret verifies nothing in any mode', () => {
  const empty = { secrets: [toDeliverySecret('')] };
  const given = { headers: { 'x-mac': signatureOf(rawBody, '') } };
  expect(judge({ mode: 'signed' }, given, empty).verdict).toBe('admitted');
  expect(judge({ mode: 'signed' }, given, { ...empty, verified }).verdict).toBe('noSecretYet');
  expect(judge(byMac, given, empty).verdict).toBe('noSecretYet');
});

it('the signature that the service publishes with its key is found, with the name of its header', () => {
  const body = Buffer.from(
    '{"id":"76c672bb-3333-4a75-8b1c-2d3e4f5a6b7c","event_type":"employee_updated","message":"{\\"employee_uuid\\":\\"16fa8c2d-4ba2-4f53-8a30-ecd4a1b2c3d4\\",\\"status\\":\\"update\\"}","timestamp":"2026-03-04T06:00:48.623097715Z"}',
  );
  const signature = 'sha256=iYeyC1eJ5sQTQhIFyFcnrljX7XYKUwyCNrVaGBCJLh4=';
  const secrets = [toDeliverySecret('5b0f6a52-7c1d-4e52-9a55-3f1f6f0a1c11')];
  const delivery = { headers: { accept: '*/*', 'x-any-name': signature }, rawBody: body, unpacked: body };
  expect(judge({ mode: 'signed' }, delivery, { secrets })).toEqual({ verdict: 'verified', header: 'x-any-name' });
});

it('in mode path the address is the proof', () => {
  expect(createVerification({ mode: 'path' }).needsSecret).toBe(false);
  expect(judge({ mode: 'path' }, {}, { secrets: [], verified }).verdict).toBe('admitted');
});

it('a later check needs the header of mode hmac, and in mode signed those that look like a signature', () => {
  const headers = { cookie: 'a=b', authorization: 'Bearer x', 'x-mac': right, 'x-other': signatureOf('other') };
  expect(createVerification(byMac).headersToCheck(headers)).toEqual(['x-mac']);
  expect(createVerification({ mode: 'signed' }).headersToCheck(headers)).toEqual(['x-mac', 'x-other']);
});

const hmac = { ...byMac, header: 'X-Signature', encoding: 'hex', prefix: '' } as const;
const sent = (value: string) => ({ headers: { 'x-signature': value } });

it.each<[VerificationSettings, right: string[], wrong: string[]]>([
  [
    hmac,
    [mac(secretId), mac(secretId).toUpperCase()],
    [mac(older), mac(secretId).slice(2), `${mac(secretId)}00`, '', secretId],
  ],
  [{ ...hmac, prefix: 'sha256=' }, [`sha256=${mac(secretId)}`], [mac(secretId)]],
  [{ ...hmac, encoding: 'base64' }, [mac(secretId, 'base64')], [mac(secretId)]],
])('%j verifies a delivery with %j, and refuses one with each of %j', (settings, rightOnes, wrongOnes) => {
  for (const value of rightOnes) expect(judge(settings, sent(value)).verdict, value).toBe('verified');
  for (const value of wrongOnes) expect(judge(settings, sent(value)).verdict, value).toBe('wrongSecret');
});

it.each<[string, Partial<AcceptedProof>, signed: Verdict, hmac: Verdict]>([
  [
    'verified with any of several secrets',
    { secrets: [secretId, older].map(toDeliverySecret) },
    'verified',
    'verified',
  ],
  ['admitted where the secret was lost', { secrets: [], isSecretLost: true }, 'admitted', 'admitted'],
  ['undecided while no secret is stored', { secrets: [] }, 'noSecretYet', 'noSecretYet'],
  ['undecided while our keys do not open a secret', { hasUnreadableSecret: true }, 'noSecretYet', 'noSecretYet'],
])('a delivery that must be signed is %s', (_, accepted, inSigned, inHmac) => {
  const given = { headers: { 'x-mac': signatureOf(rawBody, older) } };
  expect(judge({ mode: 'signed' }, given, { verified, ...accepted }).verdict).toBe(inSigned);
  expect(judge(byMac, given, accepted).verdict).toBe(inHmac);
});
