import { randomUUID } from 'node:crypto';
import { expect, it, vi } from 'vitest';
import type { CompanyReport } from '../../../src/domain/report.js';
import type { TokenLease } from '../../../src/domain/token-lease.js';
import { deliver, newReport, reported } from '../../support/delivery/deliveries.js';
import { useNotifyReceiver } from '../../support/notify/receiver.js';
import { type ActivityAction, activityActions, actOn, resetPoints, resetRun } from '../../support/operator.js';
import { useOrderStack } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';
import { isPending } from '../../support/runs.js';
import { leaseStart } from '../../support/token/leases.js';

const receiver = useNotifyReceiver();
const stack = useOrderStack(() => ({ env: receiver.env }));
const actions = Object.keys(activityActions) as ActivityAction[];

const receiptOf = (total: string) => ({ payment_summary: { total_inc_tax: total } });

/** A run about a report whose receipt is read, and told to a path. */
async function report() {
  const orderId = stack.newOrder('business', [['Completed', 0]]);
  const path = `/${randomUUID()}`;
  const run = await reported(stack, { orderId, input: { notify: [{ url: receiver.origin + path }] }, limits: {} });
  const current = stack.client.workflow.getHandle(run.workflowId);
  const told = () => receiver.received.filter((one) => one.path === path);
  /** Another report, with another receipt, is read and told. */
  async function goesOn(total: string): Promise<void> {
    stack.sandbox.clearFaults();
    stack.sandbox.setFault({ kind: 'reply', operation: 'orderReceipt', orderId, status: 200, body: receiptOf(total) });
    await deliver(current, newReport());
    await vi.waitFor(async () => {
      expect((await current.query<CompanyReport>('reportStatus')).receipt).toMatchObject(receiptOf(total));
      expect(told().at(-1)?.event.data).toMatchObject({ receipt: receiptOf(total) });
    }, patient);
  }
  return { run, current, told, goesOn };
}

it('the run of a report goes on after a reset to each of its tasks, and no two notices have one id', async () => {
  const { run, current, told, goesOn } = await report();
  await goesOn('11.00');
  const first = { workflowId: run.workflowId, runId: run.signaledRunId };
  for (const [index, point] of (await resetPoints(run)).entries()) {
    await resetRun(stack.client, first, point, 'nothing');
    await goesOn(`${20 + index}.00`);
  }
  const contents = new Map(told().map(({ id, event }) => [id, JSON.stringify(event)]));
  for (const { id, event } of told()) expect(JSON.stringify(event), id).toBe(contents.get(id));
  stack.sandbox.clearFaults();
  await current.terminate();
});

it.each(actions)('the run of a report goes on after an operator did this to its read: %s', async (action) => {
  const { current, goesOn } = await report();
  await goesOn('11.00');
  stack.sandbox.clearFaults();
  stack.sandbox.setFault({ kind: 'slow', operation: 'orderReceipt', delayMs: 2_000 });
  await deliver(current, newReport());
  await isPending(current, 'readReceipt');
  await actOn(stack.client, current.workflowId, 'readReceipt', action);
  await goesOn('12.00');
  stack.sandbox.clearFaults();
  await current.terminate();
});

it('a lease goes on after a reset of its run to each of its tasks, with a request for each token', async () => {
  const run = await stack.client.workflow.start('accessToken', leaseStart(stack));
  const current = stack.client.workflow.getHandle(run.workflowId);
  const requests = () => stack.sandbox.ledger({ operation: 'businessToken' }).length;
  const tokenId = async () => (await current.query<TokenLease>('tokenStatus')).token?.id ?? null;
  /** A caller asks for another token than the lease has, twice. */
  const goesOn = async (after: string): Promise<void> => {
    const [insteadOf, before] = [await tokenId(), requests()];
    for (let sent = 0; sent < 2; sent += 1) await current.signal('renewToken', { insteadOf });
    await vi.waitFor(async () => expect(await tokenId()).not.toBe(insteadOf), patient);
    expect(requests() - before, after).toBeLessThan(2); // none: the reset run had asked before
    expect((await current.describe()).memo).toMatchObject({ lease: { token: { id: await tokenId() } } });
  };
  for (const time of ['first', 'second']) await goesOn(time);
  for (const point of await resetPoints(run)) {
    await resetRun(stack.client, { workflowId: run.workflowId, runId: run.firstExecutionRunId }, point, 'nothing');
    await goesOn(`reset to ${point}`);
  }
  await current.terminate();
});
