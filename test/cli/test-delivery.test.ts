import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createContext, type Session } from '../../src/cli/command.js';
import { sendDelivery } from '../../src/cli/delivery/send.js';
import { loadCliConfig } from '../../src/config.js';
import { defaultContractProfile } from '../../src/contracts/default-contract-profile.js';
import { createDeliveryReader } from '../../src/contracts/delivery-body.js';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import type { AcceptedGeneration } from '../../src/domain/subscription/subscription.js';
import { createNamedKey, type KeyRing } from '../../src/sealing/key-ring.js';
import { createSealer } from '../../src/sealing/sealer.js';
import { createWebhookPaths } from '../../src/sealing/webhook-paths.js';
import { createVerification, toDeliverySecret, type VerificationSettings } from '../../src/webhooks/verification.js';
import { type Receiver, startReceiver } from '../dev/sandbox/receiver.js';
import { encodedKey } from '../settings/env.js';
import { fakeProcess } from './fake-process.js';

const keys: KeyRing = [createNamedKey('k1', Buffer.alloc(32, 7))];
const key = { account: toAccountName('business'), eventType: 'status_changed' } as const;
const about = { order: toOrderId('7b21'), status: 'Driving' };
const secretId = '5b1f0c1e-7d0a-4a3b-9c55-0123456789ab';
const businessId = '00000000-0000-4000-8000-000000000000';
const deliveryId = '0123456789abcdef0123456789abcdef';
const sealed = await createSealer(keys).seal(secretId, 'subscription/business/status_changed');

let receiver: Receiver;
let url: string;
beforeEach(async () => {
  receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  url = receiver.url;
  answerWith(202, { deliveryId });
});
const answerWith = (status: number, body: object, type = 'application/json') => {
  receiver.answer = () => ({ status, type, body: JSON.stringify(body) });
};

const generation = (change: Partial<AcceptedGeneration> = {}): AcceptedGeneration => ({
  ...{ generation: 'mabc1', until: null, secrets: [], isSecretLost: false, ...change },
});
const older = generation({ generation: 'old1', until: '2999-01-01T00:00:00Z', secrets: [sealed] });
const byMac: VerificationSettings = {
  ...{ mode: 'hmac', header: 'X-Mac', algorithm: 'sha256', encoding: 'base64', prefix: 'sha256=', over: 'received' },
};
const verified = { header: 'x-found', at: '2031-05-01T10:00:00.000Z', reportEveryMs: 3_600_000 };

interface Given {
  /** What the memo of the subscription says; null: it has none. */
  accepted?: AcceptedGeneration[] | null;
  verification?: VerificationSettings;
  /** Other ones of the contract profile. */
  pointers?: object;
  env?: Record<string, string>;
}

/** Runs the command on such a subscription. */
async function run({ accepted = [generation()], verification, pointers, env = {} }: Given, options: object = {}) {
  const config = loadCliConfig({
    FARETRAIL_WEBHOOK_KEYS: `k1:${encodedKey(7)}`,
    FARETRAIL_BUSINESS_BASE_URL: 'https://business.example',
    FARETRAIL_BUSINESS_CLIENT_ID: 'client',
    FARETRAIL_BUSINESS_ID: businessId,
    FARETRAIL_PUBLIC_URL: url,
    ...env,
  });
  const profile = {
    ...config.profile,
    pointers: { ...config.profile.pointers, ...pointers },
    ...(verification && { delivery: { verification } }),
  };
  const get = async (_workflowId: string, unknown: Error) => {
    if (accepted === null) throw unknown;
    return { memo: { subscription: { accepted } } };
  };
  const { process, output } = fakeProcess(undefined, { loadSettings: () => config });
  const context = createContext(process, { json: true });
  const session = { ...context, get, config: { ...config, profile } } as unknown as Session;
  const exitCode = await sendDelivery(session, { ...key, ...about, ...options });
  return { exitCode, ...output, json: JSON.parse(output.stdout) as unknown };
}

describe('the test delivery', () => {
  it('goes to the newest accepted address, and the command prints its id', async () => {
    const { exitCode, json } = await run({ accepted: [generation({ generation: 'new1' }), older] });
    expect(exitCode).toBe(0);
    expect(json).toEqual({ ok: true, url, httpStatus: 202, deliveryId, detail: null });
    const [, , account, eventType, capability = ''] = receiver.received[0]?.path.split('/') ?? [];
    expect([account, eventType]).toEqual(['business', 'status_changed']);
    expect(createWebhookPaths(keys).readCapability(key, capability)).toBe('new1');
  });

  it('has the published form: the order inside a text, and no company', async () => {
    await run({});
    await run({}, { eventType: 'business_report', status: undefined });
    await run({}, { eventType: 'business_report', order: undefined, status: undefined });
    const text = { id: expect.stringMatching(/^[0-9a-f-]{36}$/), timestamp: expect.stringMatching(/Z$/) };
    expect(receiver.received.map(({ json }) => json)).toEqual([
      { ...text, event_type: 'status_changed', message: '{"order_id":"7b21","status":"Driving"}' },
      { ...text, event_type: 'business_report', message: '{"order_id":"7b21","status":"update"}' },
      { ...text, event_type: 'business_report', message: '{"status":"update"}' },
    ]);
  });

  it('has for the ingress the order, status and event type of the command, and is a new one each time', async () => {
    await run({});
    await run({});
    const { pointers, statuses } = defaultContractProfile;
    const read = createDeliveryReader(pointers.delivery, statuses);
    const readings = receiver.received.map(({ json }) => read(json));
    const expected = { orderId: '7b21', status: 'Driving', eventType: 'status_changed' };
    for (const reading of readings) expect(reading).toMatchObject({ ...expected, eventTime: expect.any(String) });
    expect(new Set(readings.map(({ eventId }) => eventId)).size).toBe(2);
  });

  it('has each value where the profile reads it', async () => {
    const delivery = {
      ...defaultContractProfile.pointers.delivery,
      orderId: ['/ride/no'],
      status: ['/ride/state'],
      eventId: [],
      eventTime: [],
    };
    await run({ pointers: { delivery } });
    expect(receiver.received[0]?.json).toEqual({
      event_type: 'status_changed',
      ride: { no: '7b21', state: 'Driving' },
      id: expect.any(String),
      timestamp: expect.any(String),
    });
  });

  const modes: VerificationSettings[] = [{ mode: 'path' }, { mode: 'signed' }, byMac];
  it.each(modes)('is verified by the ingress in mode $mode, and by no other secret', async (verification) => {
    await run({ accepted: [generation({ secrets: [sealed], verified })], verification });
    const { headers, body: rawBody } = receiver.received[0] ?? expect.fail('no delivery came');
    const verdict = (secret: string) =>
      createVerification(verification).verify(
        { headers, rawBody, unpacked: rawBody },
        { secrets: [toDeliverySecret(secret)], isSecretLost: false, hasUnreadableSecret: false, verified },
      ).verdict;
    expect(verdict(secretId)).toBe(verification.mode === 'path' ? 'admitted' : 'verified');
    expect(verdict('another')).toBe(verification.mode === 'path' ? 'admitted' : 'wrongSecret');
  });

  it('is not signed before the service has signed one: it would make signatures compulsory', async () => {
    await run({ accepted: [generation({ secrets: [sealed] })] });
    expect(JSON.stringify(receiver.received[0]?.headers)).not.toContain('sha256=');
    await run({ accepted: [generation({ secrets: [sealed], verified })] });
    expect(receiver.received[1]?.headers).toMatchObject({ 'x-found': expect.stringMatching(/^sha256=/) });
  });

  it('carries no secret where it was lost', async () => {
    const accepted = [generation({ isSecretLost: true })];
    expect((await run({ accepted, verification: byMac })).exitCode).toBe(0);
    expect(receiver.received[0]?.headers).not.toHaveProperty('x-mac');
  });

  it('goes where the settings say: to the public URL, else to the ingress on this machine', async () => {
    const { port } = new URL(url);
    const here = { FARETRAIL_PUBLIC_URL: '', FARETRAIL_INGRESS_PORT: port, FARETRAIL_INGRESS_HOST: '0.0.0.0' };
    await run({ env: here });
    expect(receiver.received).toHaveLength(1);
    await run({ env: { FARETRAIL_INGRESS_PORT: '1', FARETRAIL_PUBLIC_URL: `${url}/behind/a/proxy` } });
    expect(receiver.received[1]?.path).toMatch(/^\/behind\/a\/proxy\/webhooks\/business\//);
  });
});

describe('the command sends no delivery and names the remedy', () => {
  const toSubscribe = 'faretrail subscription create business status_changed';
  const otherKeys = { FARETRAIL_WEBHOOK_KEYS: `k9:${encodedKey(9)}` };
  const withSecret = { accepted: [generation({ secrets: [sealed] })], verification: byMac };

  it.each<[string, Given, string, string]>([
    ['the account has not subscribed', { accepted: null }, 'NotSubscribed', toSubscribe],
    ['the subscription has ended', { accepted: [] }, 'NotSubscribed', toSubscribe],
    ['the secret is not known yet', { verification: byMac }, 'NotInPlace', ''],
    ['its keys fit no secret', { ...withSecret, env: otherKeys }, 'ContentUnreadable', 'FARETRAIL_WEBHOOK_KEYS'],
    ['it has no webhook keys', { env: { FARETRAIL_WEBHOOK_KEYS: '' } }, 'InvalidInput', 'FARETRAIL_WEBHOOK_KEYS'],
  ])('when %s', async (_, given, code, words) => {
    await expect(run(given)).rejects.toMatchObject({ code, message: expect.stringContaining(words) });
    expect(receiver.received).toEqual([]);
  });

  it('when nothing listens, with the place and never the path', async () => {
    const failure = await run({ env: { FARETRAIL_PUBLIC_URL: 'http://127.0.0.1:1' } }).catch((error: Error) => error);
    expect(failure).toMatchObject({ code: 'NoAnswer', message: expect.stringContaining('http://127.0.0.1:1 (ECONN') });
    expect(String((failure as Error).stack)).not.toContain('/webhooks/');
  });
});

describe('the answer', () => {
  it('that refuses ends the command with 1 and its reason', async () => {
    answerWith(401, { detail: 'not verified' }, 'application/problem+json');
    const { exitCode, json } = await run({});
    expect(exitCode).toBe(1);
    expect(json).toEqual({ ok: false, url, httpStatus: 401, deliveryId: null, detail: 'not verified' });
  });

  it.each([200, 404])('that is no ingress (%i) is never printed: it may hold address or secret', async (status) => {
    answerWith(status, { deliveryId: secretId, detail: 'mabc1.' });
    const { stdout, stderr } = await run({ accepted: [generation({ secrets: [sealed] })], verification: byMac });
    expect(stdout + stderr).not.toMatch(/mabc1|5b1f0c1e|webhooks/);
  });
});
