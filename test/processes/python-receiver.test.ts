import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { freePort } from '../../dev/stack/temporal/free-port.js';
import { projectRoot } from '../../dev/stack/temporal/project-root.js';
import { receiverSecret, toWebhookSecret } from '../../src/notify-http/sender.js';
import { useOrderStack } from '../support/order/stack.js';
import { patient } from '../support/patience.js';

const script = join(projectRoot, 'examples/python/receiver.py');
const key = Buffer.alloc(32, 9);

function hasPython(): boolean {
  try {
    execFileSync('python3', ['--version']);
    return true;
  } catch {
    return false;
  }
}
const canRun = hasPython();

let origin = '';
let secret = '';
let printed = '';
let receiver: ChildProcess | undefined;
beforeAll(async () => {
  const port = await freePort();
  origin = `http://127.0.0.1:${port}`;
  secret = toWebhookSecret(receiverSecret(key, origin));
  if (!canRun) return;
  const env = { PATH: process.env.PATH, FARETRAIL_SECRET: secret };
  receiver = spawn('python3', [script, String(port)], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  receiver.stdout?.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  await vi.waitFor(async () => expect(await post({})).toBe(401), patient);
});
afterAll(() => receiver?.kill());

const stack = useOrderStack(() => ({
  env: {
    FARETRAIL_NOTIFY_ORIGINS: origin,
    FARETRAIL_NOTIFY_SECRETS: `n1:${key.toString('base64url')}`,
    FARETRAIL_NOTIFY_PRIVATE: 'true',
  },
}));

const body = JSON.stringify({ type: 'order.changed', data: { orderId: 'forged', status: 'Driving' } });
const post = async (headers: Record<string, string>): Promise<number> =>
  (await fetch(`${origin}/changes`, { method: 'POST', headers, body })).status;

it.skipIf(!canRun)('a receiver in Python takes what workers send, once, and refuses what others sign', async () => {
  const orderId = stack.newOrder('business', [['Driving', 0]]);
  const handle = await stack.follow('business', orderId, { notify: [{ url: `${origin}/changes` }] });
  await expect.poll(() => printed).toContain(`order ${orderId} is Driving\n`);
  stack.sandbox.setStatus('business', orderId, 'Completed');
  await handle.result();
  await expect.poll(() => printed).toContain(`order ${orderId} is Completed\n`);

  const now = new Date();
  const signedBy = (by: string, at = now) => ({
    'webhook-id': 'm1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': new Webhook(by).sign('m1', at, body),
  });
  const other = toWebhookSecret(receiverSecret(key, 'https://other.example'));
  expect(await post(signedBy(other))).toBe(401);
  expect(await post(signedBy(secret, new Date(now.getTime() - 3_600_000)))).toBe(401);
  expect(await post({ ...signedBy(secret), 'webhook-timestamp': 'now' })).toBe(401);
  expect(printed).not.toContain('forged');
  for (let sent = 0; sent < 2; sent += 1) expect(await post(signedBy(secret))).toBe(204);
  expect(printed.match(/forged/g)).toHaveLength(1);
});

it('is what the page shows', () => {
  const page = readFileSync(join(projectRoot, 'docs/how-to/receive-notices.md'), 'utf8');
  const [, shown = ''] = /```python\n([\s\S]*?)```/.exec(page) ?? [];
  const text = shown.replaceAll(/^ {3}/gm, '');
  expect(text).toContain('def verified(');
  expect(readFileSync(script, 'utf8')).toContain(text.slice(text.indexOf('def verified(')));
});
