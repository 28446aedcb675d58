import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, it, onTestFinished } from 'vitest';
import { type Sandbox, startSandbox } from '../../dev/sandbox/sandbox.js';
import { freePort } from '../../dev/stack/temporal/free-port.js';
import { createNotifySender } from '../../src/notify-http/sender.js';
import { newRide } from '../dev/sandbox/booking-calls.js';
import { type WorkerEnv, workerEnv } from '../support/accounts.js';
import { jsonFile } from '../support/json-file.js';
import { type NotifyReceiver, startNotifyReceiver } from '../support/notify/receiver.js';
import { completes } from '../support/ride/rides.js';
import { createAuthority } from '../support/server/certificates.js';
import { runStarter, startWorkerProcess, type WorkerProcess } from '../support/worker/process.js';

let receiver: NotifyReceiver;
let sandbox: Sandbox;
let env: WorkerEnv;
let metricsUrl: string;
let worker: WorkerProcess;
beforeAll(async () => {
  const authority = createAuthority('receivers');
  receiver = await startNotifyReceiver({ tls: authority.server() });
  sandbox = await startSandbox();
  env = workerEnv(sandbox.url, { ...receiver.env, FARETRAIL_LOG_LEVEL: 'info' });
  // The standard setting of Node for an authority that only a company knows.
  const metrics = { FARETRAIL_METRICS_PORT: String(await freePort()) };
  metricsUrl = `http://127.0.0.1:${metrics.FARETRAIL_METRICS_PORT}/metrics`;
  worker = await startWorkerProcess({ ...env, ...metrics, NODE_EXTRA_CA_CERTS: authority.ca });
});
afterAll(async () => {
  await worker.stop();
  await sandbox.close();
  await receiver.close();
});

/** The lines that a command prints. */
async function cli(...argv: string[]): Promise<Record<string, unknown>[]> {
  const { output } = await runStarter([...argv, '--json'], { TEMPORAL_ADDRESS: inject('temporalAddress'), ...env });
  const lines = output.trim().split('\n');
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

it('the installed processes carry a call to its end, order a ride, follow it, and notify a URL with a private authority', async () => {
  const [called] = await cli('call', 'business', 'companySettings');
  expect(called).toMatchObject({ result: { operation: 'companySettings', status: 200 } });
  sandbox.setRideSettings({ script: completes });
  const asked = ['--input', jsonFile(newRide()), '--request-id', randomUUID()];
  const url = `${receiver.origin}/changes`;
  const told = await cli('ride', 'request', 'business', ...asked, '--notify', url, '--watch');
  expect(told.at(0)).toMatchObject({ state: 'started' });
  expect(told.at(-1)).toMatchObject({ change: 'ended', result: { outcome: 'completed' } });
  await expect.poll(() => receiver.taken('/changes').at(-1)).toBe('Completed');
  await expect.poll(() => receiver.received.map(({ event }) => event.type)).toContain('ride.changed');
  const counted = new RegExp(`^faretrail_notices_total{.*origin="${receiver.origin}".*outcome="told".*} \\d`, 'm');
  await expect.poll(async () => await (await fetch(metricsUrl)).text()).toMatch(counted);
});

it('a URL whose certificate the worker does not trust gets no notice', async () => {
  const secrets = [Buffer.alloc(32, 7)];
  const sender = createNotifySender({ origins: [receiver.origin], secrets, allowsPrivate: true });
  onTestFinished(() => sender.close());
  const outcome = await sender.send({ url: `${receiver.origin}/untrusted`, id: 'msg_1', event: {}, at: Date.now() });
  expect(outcome).toEqual({ kind: 'unreachable', code: expect.stringMatching(/CERT|VERIFY/) });
  expect(receiver.received.filter(({ path }) => path === '/untrusted')).toEqual([]);
});
