import { readFileSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { tokenRequestsIn } from '../../dev/sandbox/ledger-questions.js';
import { freePort } from '../../dev/stack/temporal/free-port.js';
import { jsonFile } from '../support/json-file.js';
import { startFleet } from '../support/worker/fleet.js';
import { startWorkerProcess } from '../support/worker/process.js';

const lifetimeMs = 8_000;
/** A token of so short a life is renewed a fifth of it ahead, and the sandbox notes a request when it comes. */
const leastApartMs = lifetimeMs - lifetimeMs / 5 - 2_000;
const tokenLifetimeSeconds = lifetimeMs / 1_000;
const interfaces = ['partner', 'business'] as const;

it('two workers that hold one account each follow the orders of both, and each requests the tokens of its own alone', async () => {
  const fleet = await startFleet(0, {
    sandbox: { partner: { tokenLifetimeSeconds }, business: { tokenLifetimeSeconds } },
    env: { FARETRAIL_POLL_ACTIVE_MS: '1000' },
  });
  onTestFinished(() => fleet.close());
  const { accounts } = JSON.parse(readFileSync(fleet.env.FARETRAIL_ACCOUNTS_FILE ?? '', 'utf8'));
  const pages: Record<string, () => Promise<string>> = {};
  for (const name of interfaces) {
    const port = await freePort();
    pages[name] = async () => await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    const FARETRAIL_ACCOUNTS_FILE = jsonFile({ accounts: { [name]: accounts[name] } });
    fleet.workers.push(
      await startWorkerProcess({ ...fleet.env, FARETRAIL_ACCOUNTS_FILE, FARETRAIL_METRICS_PORT: String(port) }),
    );
  }

  const orders = await fleet.followOrders(12, [['Driving', 0]]);
  const times = () => tokenRequestsIn(fleet.sandbox.ledger()).map((one) => one.times.map((at) => Date.parse(at)));
  const enough = expect.toSatisfy((one: number[]) => one.length > 1);
  await expect.poll(times, { timeout: 3 * lifetimeMs + 60_000 }).toEqual([enough, enough]);
  for (const one of times())
    for (const [index, at] of one.slice(1).entries())
      expect(at - (one[index] ?? 0), 'between two token requests').toBeGreaterThan(leastApartMs);

  for (const name of interfaces) {
    const requests = (await pages[name]?.())?.match(/^faretrail_token_requests_total\{.*$/gm) ?? [];
    expect(requests).toEqual([expect.stringMatching(new RegExp(`account="${name}".*outcome="ok"`))]);
  }
  const { taskQueue } = fleet.place.config;
  for await (const { workflowId } of fleet.client.workflow.list({
    query: `TaskQueue = '${taskQueue}' AND WorkflowType = 'accessToken'`,
  })) {
    const { events } = await fleet.client.workflow.getHandle(workflowId).fetchHistory();
    const queues = events?.flatMap((event) => event.activityTaskScheduledEventAttributes?.taskQueue?.name ?? []);
    expect(new Set(queues)).toEqual(new Set([`${taskQueue}.${workflowId.split('/')[1]}`]));
    const attempts = events?.flatMap((event) => event.activityTaskStartedEventAttributes?.attempt ?? []);
    expect(new Set(attempts), 'no worker without the credentials was asked').toEqual(new Set([1]));
  }

  for (const order of orders) {
    const [, account = '', orderId = ''] = order.workflowId.split('/');
    fleet.sandbox.setStatus(account as 'partner', orderId, 'Completed');
  }
  const trails = await Promise.all(orders.map((order) => order.result()));
  expect(trails.map(({ outcome, attention }) => [outcome, attention])).toEqual(orders.map(() => ['completed', null]));
}, 200_000);
