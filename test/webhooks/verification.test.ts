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

describe('mode path', () => {
  it('needs no secret', () => {
    expect(verdict({ mode: 'path' }, { secrets: [] })).toBe('verified');
    expect(createVerification({ mode: 'path' })).toMatchObject({ needsSecret: false, headers: [] });
  });
});

describe('mode header', () => {
  it('wants the secret in the header of that name, in any case', () => {
    expect(verdict(header, { headers: { 'x-secret': secretId } })).toBe('verified');
    expect(createVerification(header)).toMatchObject({ needsSecret: true, headers: ['x-secret'] });
  });

  it.each([{}, { 'x-secret': '' }, { 'x-secret': `${secretId}x` }, { 'x-secret': older }, { 'x-other': secretId }])(
    'refuses anything else: %j',
    (headers) => {
      expect(verdict(header, { headers })).toBe('wrongSecret');
    },
  );
});

describe('mode body', () => {
  it('wants the secret at the pointer', () => {
    expect(verdict(inBody, { body: { auth: { secret: secretId } } })).toBe('verified');
  });

  it.each([
    {},
    { auth: { secret: older } },
    { auth: { secret: [secretId] } },
    { auth: secretId },
    { secret: secretId },
  ])('refuses anything else: %j', (body) => {
    expect(verdict(inBody, { body })).toBe('wrongSecret');
  });
});

describe('mode hmac', () => {
  it.each([
    [hmac(), mac(secretId, 'hex')],
    [hmac(), mac(secretId, 'hex').toUpperCase()],
    [hmac({ prefix: 'sha256=' }), `sha256=${mac(secretId, 'hex')}`],
    [hmac({ encoding: 'base64' }), mac(secretId, 'base64')],
  ] as const)('takes the mac of the raw bytes: %j %s', (settings, value) => {
    expect(verdict(settings, { headers: { 'x-signature': value } })).toBe('verified');
  });

  it.each([
    [hmac(), mac(older, 'hex')],
    [hmac(), mac(secretId, 'hex').slice(2)],
    [hmac(), `${mac(secretId, 'hex')}00`],
    [hmac(), ''],
    [hmac({ prefix: 'sha256=' }), mac(secretId, 'hex')],
    [hmac({ encoding: 'base64' }), mac(secretId, 'hex')],
    [hmac(), secretId],
  ] as const)('refuses any other: %j %s', (settings, value) => {
    expect(verdict(settings, { headers: { 'x-signature': value } })).toBe('wrongSecret');
  });
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

  it.each(settings)('cannot be said while no secret is stored, or ours cannot be read: $mode', (each) => {
    expect(verdict(each, { secrets: [] })).toBe('noSecretYet');
    expect(verdict(each, { hasUnreadableSecret: true })).toBe('noSecretYet');
  });
});
