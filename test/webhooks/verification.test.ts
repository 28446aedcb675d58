import { createHmac } from 'node:crypto';
import { expect, it } from 'vitest';
import {
  type AcceptedProof,
  createVerification,
  type Proof,
  toDeliverySecret,
  type Verdict,
  type VerificationSettings,
} from '../../src/webhooks/verification.js';
import { secretId } from './ingress-stand.js';

const older = '5d8d8b4a-1a2b-4c3d-8e9f-001122334455';
const rawBody = Buffer.from('{"order_id":"4711","auth":{"secret":"s"}}');

function verdict(settings: VerificationSettings, given: Partial<Proof>, over: Partial<AcceptedProof> = {}) {
  const accepted = { secrets: [toDeliverySecret(secretId)], isSecretLost: false, hasUnreadableSecret: false, ...over };
  return createVerification(settings).verify({ headers: {}, body: {}, rawBody, unpacked: rawBody, ...given }, accepted);
}

const mac = (key: string, encoding: 'hex' | 'base64' = 'hex') =>
  createHmac('sha256', key).update(rawBody).digest(encoding);
const path: VerificationSettings = { mode: 'path' };
const header: VerificationSettings = { mode: 'header', name: 'X-Secret' };
const inBody: VerificationSettings = { mode: 'body', pointer: '/auth/secret' };
const hmac: VerificationSettings = {
  ...{ mode: 'hmac', header: 'X-Signature', algorithm: 'sha256', encoding: 'hex', prefix: '', over: 'received' },
};
const prefixed: VerificationSettings = { ...hmac, prefix: 'sha256=' };
const inBase64: VerificationSettings = { ...hmac, encoding: 'base64' };

const sent = (value: string) => ({ headers: { 'x-secret': value } });
const signed = (value: string) => ({ headers: { 'x-signature': value } });

it('a verification says which header it reads, in lower case, and whether it needs a secret', () => {
  expect(createVerification(path)).toMatchObject({ needsSecret: false, headers: [] });
  expect(verdict(path, {}, { secrets: [] })).toBe('verified');
  expect(createVerification(header)).toMatchObject({ needsSecret: true, headers: ['x-secret'] });
});

it.each<[VerificationSettings, right: Partial<Proof>[], wrong: Partial<Proof>[]]>([
  [header, [sent(secretId)], [{}, sent(''), sent(`${secretId}x`), sent(older), { headers: { 'x-other': secretId } }]],
  [
    inBody,
    [{ body: { auth: { secret: secretId } } }],
    [{ auth: { secret: older } }, { auth: { secret: [secretId] } }, { auth: secretId }, {}].map((body) => ({ body })),
  ],
  [
    hmac,
    [mac(secretId), mac(secretId).toUpperCase()].map(signed),
    [mac(older), mac(secretId).slice(2), `${mac(secretId)}00`, '', secretId].map(signed),
  ],
  [prefixed, [signed(`sha256=${mac(secretId)}`)], [signed(mac(secretId))]],
  [inBase64, [signed(mac(secretId, 'base64'))], [signed(mac(secretId))]],
])('%j verifies a delivery with %j, and refuses one with each of %j', (settings, right, wrong) => {
  for (const given of right) expect(verdict(settings, given), JSON.stringify(given)).toBe('verified');
  for (const given of wrong) expect(verdict(settings, given), JSON.stringify(given)).toBe('wrongSecret');
});

const withOlder = { headers: { 'x-secret': older, 'x-signature': mac(older) }, body: { auth: { secret: older } } };
it.each<[string, Partial<AcceptedProof>, Verdict]>([
  ['verified when it has any of several secrets', { secrets: [secretId, older].map(toDeliverySecret) }, 'verified'],
  ['verified with any secret where the right one was lost', { secrets: [], isSecretLost: true }, 'verified'],
  ['undecided while no secret is stored', { secrets: [] }, 'noSecretYet'],
  ['undecided while our keys do not open a secret', { hasUnreadableSecret: true }, 'noSecretYet'],
])('in every mode with a secret a delivery is %s', (_, accepted, expected) => {
  for (const mode of [header, inBody, hmac]) expect(verdict(mode, withOlder, accepted), mode.mode).toBe(expected);
});
