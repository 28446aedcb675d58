import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type CliProcess, createContext } from '../../src/cli/command.js';
import { type SendSession, sendDelivery } from '../../src/cli/delivery/send.js';
import { loadCliConfig } from '../../src/config.js';
import { defaultContractProfile } from '../../src/contracts/default-contract-profile.js';
import { createDeliveryReader } from '../../src/contracts/delivery-body.js';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import type { AcceptedGeneration, SubscriptionMemo } from '../../src/domain/subscription/subscription.js';
import type { SubscriptionKey } from '../../src/domain/workflow-ids.js';
import { createNamedKey, type KeyRing } from '../../src/sealing/key-ring.js';
import { createSealer } from '../../src/sealing/sealer.js';
import { createWebhookPaths } from '../../src/sealing/webhook-paths.js';
import { createVerification, toDeliverySecret, type VerificationSettings } from '../../src/webhooks/verification.js';
import { type Receiver, startReceiver } from '../sandbox/receiver.js';
import { nowhere, runHere } from './fake-process.js';

const keyText = `k1:${Buffer.alloc(32, 7).toString('base64url')}`;
const keys: KeyRing = [createNamedKey('k1', Buffer.alloc(32, 7))];
const key = { account: toAccountName('business'), eventType: 'status_changed' } as const;
const about = { order: toOrderId('7b21'), status: 'Driving' };
const secretId = '5b1f0c1e-7d0a-4a3b-9c55-0123456789ab';
const businessId = '00000000-0000-4000-8000-000000000000';
const deliveryId = '0123456789abcdef0123456789abcdef';

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
  generation: 'mabc1',
  until: null,
  secrets: [],
  isSecretLost: false,
  ...change,
});
const sealed = () => createSealer(keys).seal(secretId, 'subscription/business/status_changed');

interface Given {
  memo?: SubscriptionMemo | null;
  verification?: VerificationSettings;
  env?: Record<string, string>;
  at?: SubscriptionKey;
}

/** Runs the command on a subscription that stands in Temporal with this memo. */
async function run({ memo = { accepted: [generation()] }, verification, env = {}, at = key }: Given, options = {}) {
  const output = { stdout: '', stderr: '' };
  const settings = {
    FARETRAIL_WEBHOOK_KEYS: keyText,
    FARETRAIL_BUSINESS_BASE_URL: 'https://business.example',
    FARETRAIL_BUSINESS_CLIENT_ID: 'client',
    FARETRAIL_BUSINESS_ID: businessId,
    ...env,
  };
  const config = loadCliConfig(settings);
  const profile = { ...config.profile, ...(verification && { delivery: { verification } }) };
  const find = (async () => memo && { memo: { subscription: memo } }) as unknown as SendSession['find'];
  const process = {
    env: {},
    stdout: { write: (text: string) => (output.stdout += text) },
    stderr: { write: (text: string) => (output.stderr += text) },
    loadSettings: () => config,
  } as unknown as CliProcess;
  const context = createContext(process, { json: true });
  const session: SendSession = { find, config: { ...config, profile } };
  const exitCode = await sendDelivery(context, session, { ...at, ...about, url, ...options });
  return { exitCode, ...output, json: JSON.parse(output.stdout) as unknown };
}

describe('the test delivery', () => {
  it('goes to the newest accepted address, and its id is told', async () => {
    const older = generation({ generation: 'old1', until: '2999-01-01T00:00:00Z' });
    const { exitCode, json } = await run({ memo: { accepted: [generation({ generation: 'new1' }), older] } });
    expect(exitCode).toBe(0);
    expect(json).toEqual({ ok: true, url, httpStatus: 202, deliveryId, detail: null });
    const [, , account, eventType, capability = ''] = receiver.received[0]?.path.split('/') ?? [];
    expect([account, eventType]).toEqual(['business', 'status_changed']);
    expect(createWebhookPaths(keys).readCapability(key, capability)).toBe('new1');
  });

  it('has for the ingress the order, status and event type of the command, and is a new one each time', async () => {
    await run({});
    await run({});
    const { pointers, statuses } = defaultContractProfile;
    const read = createDeliveryReader(pointers.delivery, statuses.notOrderStatus);
    const expected = { orderId: '7b21', status: 'Driving', eventType: 'status_changed', businessId };
    for (const { json } of receiver.received) expect(read(json as never)).toMatchObject(expected);
    expect(receiver.received[0]?.body).not.toEqual(receiver.received[1]?.body);
  });

  it('of a report can name no order, and has no status', async () => {
    await run({ at: { ...key, eventType: 'business_report' } }, { order: undefined, status: undefined });
    const report = { event_type: 'business_report', business_id: businessId, timestamp: expect.any(String) };
    expect(receiver.received[0]?.json).toEqual(report);
  });

  const modes: VerificationSettings[] = [
    { mode: 'path' },
    { mode: 'header', name: 'X-Check' },
    { mode: 'body', pointer: '/auth/secret_id' },
    { mode: 'hmac', header: 'X-Signature', algorithm: 'sha256', encoding: 'base64', prefix: 'sha256=' },
  ];
  it.each(modes)('is verified by the ingress in mode $mode, and by no other secret', async (verification) => {
    await run({ memo: { accepted: [generation({ secrets: [await sealed()] })] }, verification });
    const { headers, body: rawBody, json } = receiver.received[0] ?? expect.fail('no delivery came');
    const verdict = (secret: string) =>
      createVerification(verification).verify(
        { headers, rawBody, body: json as never },
        { secrets: [toDeliverySecret(secret)], isSecretLost: false, hasUnreadableSecret: false },
      );
    expect(verdict(secretId)).toBe('verified');
    expect(verdict('another')).toBe(verification.mode === 'path' ? 'verified' : 'wrongSecret');
  });

  it('goes to an older address while the secret of the newest is not known', async () => {
    const older = generation({ generation: 'old1', secrets: [await sealed()] });
    const accepted = [generation({ generation: 'new1' }), older];
    await run({ memo: { accepted }, verification: { mode: 'header', name: 'x-check' } });
    const path = expect.stringContaining('/old1.');
    expect(receiver.received[0]).toMatchObject({ path, headers: { 'x-check': secretId } });
  });

  it('carries no secret where it was lost', async () => {
    const memo = { accepted: [generation({ isSecretLost: true })] };
    expect((await run({ memo, verification: { mode: 'body', pointer: '/s' } })).exitCode).toBe(0);
    expect(receiver.received[0]?.json).not.toHaveProperty('s');
  });

  it('goes where the settings say when no address is given', async () => {
    const port = new URL(url).port;
    await run({ env: { FARETRAIL_INGRESS_PORT: port, FARETRAIL_INGRESS_HOST: '0.0.0.0' } }, { url: undefined });
    expect(receiver.received).toHaveLength(1);
    const env = { FARETRAIL_INGRESS_PORT: '1', FARETRAIL_PUBLIC_URL: `${url}/behind/a/proxy` };
    await run({ env }, { url: undefined });
    expect(receiver.received[1]?.path).toMatch(/^\/behind\/a\/proxy\/webhooks\/business\//);
  });
});

describe('a delivery that cannot be made', () => {
  it.each([
    ['nothing has subscribed', { memo: null }],
    ['the subscription has ended', { memo: { accepted: [] } }],
  ])('because %s is not found, and the remedy is told', async (_, given) => {
    await expect(run(given)).rejects.toMatchObject({
      code: 'NotSubscribed',
      message: expect.stringContaining('faretrail subscription create business status_changed'),
    });
  });

  it.each<[string, Given]>([
    ['the secret is not known yet', { verification: { mode: 'header', name: 'x' } }],
    ['its address has expired', { memo: { accepted: [generation({ until: '2020-01-01T00:00:00Z' })] } }],
  ])('because %s is not in place', async (_, given) => {
    await expect(run(given)).rejects.toMatchObject({ code: 'NotInPlace' });
  });

  it('says which keys are wrong when it cannot open the secret', async () => {
    const otherKeys = { FARETRAIL_WEBHOOK_KEYS: `k9:${Buffer.alloc(32, 9).toString('base64url')}` };
    const memo = { accepted: [generation({ secrets: [await sealed()] })] };
    const attempt = run({ memo, verification: { mode: 'header', name: 'x-secret' }, env: otherKeys });
    const message = expect.stringContaining('FARETRAIL_WEBHOOK_KEYS');
    await expect(attempt).rejects.toMatchObject({ code: 'ContentUnreadable', message });
    expect(receiver.received).toEqual([]);
  });

  it('without the webhook keys is wrong usage', async () => {
    const refusal = { code: 'InvalidInput', message: expect.stringContaining('FARETRAIL_WEBHOOK_KEYS') };
    await expect(run({ env: { FARETRAIL_WEBHOOK_KEYS: '' } })).rejects.toMatchObject(refusal);
  });

  it('because nothing listens names the place, never the path', async () => {
    const failure = await run({}, { url: 'http://127.0.0.1:1' }).catch((error: Error) => error);
    expect(failure).toMatchObject({ code: 'NoAnswer', message: expect.stringContaining('http://127.0.0.1:1 (ECONN') });
    expect(String((failure as Error).stack)).not.toContain('/webhooks/');
  });
});

describe('the answer', () => {
  it('that refuses ends with 1 and its reason', async () => {
    answerWith(401, { detail: 'not verified' }, 'application/problem+json');
    const { exitCode, json } = await run({});
    expect(exitCode).toBe(1);
    expect(json).toEqual({ ok: false, url, httpStatus: 401, deliveryId: null, detail: 'not verified' });
  });

  it('that is no ingress is never repeated: it may hold the address or the secret', async () => {
    const accepted = [generation({ secrets: [await sealed()] })];
    const verification = { mode: 'header', name: 'x-check' } as const;
    for (const status of [200, 404]) {
      answerWith(status, { deliveryId: secretId, detail: 'mabc1.' });
      const { stdout, stderr } = await run({ memo: { accepted }, verification });
      expect(stdout + stderr).not.toMatch(/mabc1|5b1f0c1e|webhooks/);
    }
  });
});

describe('the command line', () => {
  it.each([
    [['business', 'order_changed', '--order', '1', '--status', 'x'], 'eventType: must be'],
    [['Business', 'status_changed', '--order', '1', '--status', 'x'], 'account: must be'],
    [['business', 'status_changed', '--order', 'a/b', '--status', 'x'], '--order: must not hold'],
    [['business', 'status_changed', '--status', 'Driving'], '--order: missing'],
    [['business', 'status_changed', '--order', '1'], '--status: missing'],
    [['business', 'business_report', '--status', 'Driving'], '--status: a business_report has none'],
    [['business', 'status_changed', '--order', '1', '--status', 'x', '--url', 'http://far.example'], '--url: must be'],
  ])('%j ends with 2 before any connection', async (argv, reason) => {
    const env = { ...nowhere, FARETRAIL_WEBHOOK_KEYS: keyText };
    const { exitCode, stderr } = await runHere(['delivery', 'send', ...argv], env);
    expect(stderr).toContain(reason);
    expect(exitCode).toBe(2);
  });
});
