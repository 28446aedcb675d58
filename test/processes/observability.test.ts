import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sandboxCredentials } from '../../dev/sandbox/sandbox.js';
import { freePort } from '../../dev/stack/temporal/free-port.js';
import { projectRoot } from '../../dev/stack/temporal/project-root.js';
import { defaultContractProfile } from '../../src/contracts/default-contract-profile.js';
import { describedMetrics, shownMetrics } from '../observability/metrics-table.js';
import { shows, startFollowing } from '../support/order/stack.js';
import { startTraceReceiver, type TraceReceiver } from '../support/server/trace-receiver.js';
import { usePostgres } from '../support/store/postgres.js';
import type { IngressProcess } from '../support/worker/process.js';
import { active, business, type DeliveryScene, openDeliveryScene } from './delivery-scene.js';

const [readPath] = defaultContractProfile.operations.orderDetails.path.split('?');
const page = (name: string): string => readFileSync(join(projectRoot, 'docs', name), 'utf8');

const postgres = usePostgres();
let receiver: TraceReceiver;
let scene: DeliveryScene;
let ingress: IngressProcess;
let workerUrl: string;
beforeAll(async () => {
  receiver = await startTraceReceiver();
  const port = String(await freePort());
  workerUrl = `http://127.0.0.1:${port}`;
  // The first poll after a read finds the change, and later ones are too far away to find another.
  const pace = { FARETRAIL_POLL_ACTIVE_MS: '2000', FARETRAIL_POLL_PUSHED_MS: '3600000' };
  const store = { FARETRAIL_STORE_URL: postgres.url };
  scene = await openDeliveryScene({ ...receiver.env, ...pace, ...store, FARETRAIL_METRICS_PORT: port });
  ingress = await scene.startIngress();
  await active(await scene.subscribe('status_changed', ingress.url));
  await followToItsEnd();
}, 120_000);
afterAll(async () => {
  await scene.close();
  await receiver.close();
}, 60_000);

/** An order whose first change a poll finds and whose second one a delivery announces. No notice may go to its URL. */
async function followToItsEnd(): Promise<void> {
  const { sandbox, place } = scene.fleet;
  const orderId = scene.newOrder('Pending');
  sandbox.setDeliverySettings({ enabled: false });
  const notify = [{ url: 'https://not-allowed.example/hook' }];
  const handle = await startFollowing(place, { account: business, orderId, notify });
  await shows(handle, { status: 'Pending' });
  sandbox.setStatus('business', orderId, 'CareReq');
  await shows(handle, { status: 'CareReq' });
  sandbox.setDeliverySettings({ enabled: true });
  sandbox.setStatus('business', orderId, 'Completed');
  await handle.result();
}

const metrics = async (url: string): Promise<string> => await (await fetch(`${url}/metrics`)).text();

it('worker and ingress show the metrics of docs/reference/metrics.md, with these types and labels, and no others of ours', async () => {
  await expect.poll(() => metrics(ingress.url)).toContain('\nfaretrail_forwarded_total{'); // counted after the signal
  const shown = shownMetrics(`${await metrics(workerUrl)}\n${await metrics(ingress.url)}`);
  const described = describedMetrics(page('reference/metrics.md'));
  const isOurs = ({ name }: { name: string }) => name.startsWith('faretrail_');
  const names = (list: { name: string }[]) => [...new Set(list.map(({ name }) => name))].sort();
  expect(names(shown.filter(isOurs))).toEqual(names(described.filter(isOurs)));
  for (const { name, type, labels } of shown) {
    const row = described.find((one) => one.name === name);
    if (row) expect({ name, type, labels: labels ?? row.labels }).toEqual(row);
  }
});

it('the worker counts each change of status, and how late it saw the change', async () => {
  const text = await metrics(workerUrl);
  for (const seenBy of ['first', 'read', 'delivery'])
    expect(text).toMatch(new RegExp(`^faretrail_status_changes_total{.*seen_by="${seenBy}".*} 1$`, 'm'));
  for (const seenBy of ['read', 'delivery'])
    expect(text).toMatch(new RegExp(`^faretrail_status_lag_seconds_count{.*seen_by="${seenBy}".*} 1$`, 'm'));
  expect(text).toMatch(/^faretrail_status_lag_seconds_bucket{.*seen_by="delivery".*le="60"} 1$/m);
  expect(text).toMatch(/^faretrail_order_ends_total{.*outcome="completed".*} 1$/m);
  expect(text).toMatch(/^faretrail_token_renewals_total{.*reason="first".*scope="order".*} 1$/m);
  expect(text).toMatch(/^faretrail_attention_runs{code="forbidden"} 0$/m);
  expect(text).toMatch(/^faretrail_followed_orders \d/m);
});

it('the worker keeps a fixed number of polls of an account open, so that each process gets as many of its calls', async () => {
  const samples = [...(await metrics(workerUrl)).matchAll(/^temporal_num_pollers\{(.*)\} (\d+)$/gm)];
  const ofAccount = samples.filter(
    ([, labels]) => /poller_type="activity_task"/.test(labels ?? '') && /\.business"/.test(labels ?? ''),
  );
  expect(ofAccount.map(([, , open]) => open)).toEqual(['10']);
});

it('one trace leads from the delivery through journal and run to the read at the service', async () => {
  const find = (name: string) => receiver.spans().filter((span) => span.name === name);
  const chain = () => {
    const [delivery] = find('POST /webhooks/:account/:eventType/:capability');
    const ofDelivery = find('activity readOrder').filter(({ parentSpanId }) => parentSpanId === delivery?.spanId);
    const callOf = (read?: { spanId: string }) =>
      find(`GET ${readPath}`).find(({ parentSpanId }) => parentSpanId === read?.spanId);
    const read = ofDelivery.find(callOf); // one makes no call where the account must wait
    const call = callOf(read);
    const signal = find('signal order').find(({ parentSpanId }) => parentSpanId === delivery?.spanId);
    return [delivery, signal, read, call].map((span) => span && { service: span.service, traceId: span.traceId });
  };
  const traceId = expect.stringMatching(/^\w{32}$/);
  const services = ['ingress', 'ingress', 'worker', 'worker'];
  await expect.poll(chain).toEqual(services.map((name) => ({ service: `faretrail-${name}`, traceId })));
  expect(new Set(chain().map((span) => span?.traceId)).size).toBe(1);
});

it('logs are JSON lines with the fields of docs/reference/logs-and-traces.md; no secret stands in them or in traces', () => {
  const [, table = ''] = /## Logs\n([\s\S]*?)\n## /.exec(page('reference/logs-and-traces.md')) ?? [];
  const output = [ingress, ...scene.fleet.workers].map((process) => process.output()).join('');
  const texts = output.trim().split('\n');
  const lines = texts.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(new Set(lines.map(({ process }) => process))).toEqual(new Set(['ingress', 'worker']));
  const usual = { level: expect.any(String), time: expect.stringMatching(/Z$/), msg: expect.any(String) };
  for (const line of lines) expect(line).toMatchObject(usual);
  const fields = [...new Set(lines.flatMap((line) => Object.keys(line)))];
  expect(fields.filter((field) => !table.includes(`\`${field}\``))).toEqual([]);
  const { env, sandbox } = scene.fleet;
  const keys = ['FARETRAIL_SEALING_KEYS', 'FARETRAIL_WEBHOOK_KEYS'].map((name) => env[name]?.split(':')[1] ?? '');
  const hooks = sandbox.subscribers();
  const subscribers = hooks.flatMap(({ secretId, hookAddress }) => [secretId, hookAddress.split('/').pop() ?? '']);
  for (const secret of [...sandbox.issuedTokens(), ...keys, ...subscribers, sandboxCredentials.business.clientSecret]) {
    expect(secret?.length).toBeGreaterThan(8);
    expect(output + receiver.text()).not.toContain(secret);
  }
});
