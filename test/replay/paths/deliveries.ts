import { randomUUID } from 'node:crypto';
import { expect, vi } from 'vitest';
import type { DeliveryNotice } from '../../../src/domain/delivery.js';
import { type AccountName, toAccountName, toOrderId } from '../../../src/domain/keys.js';
import type { CompanyReportInput } from '../../../src/domain/report.js';
import { companyReportId, parkedDeliveryId } from '../../../src/domain/workflow-ids.js';
import type { parkedDelivery } from '../../../src/workflows/parked-delivery.js';
import type { CompanyReportLimits, companyReport } from '../../../src/workflows/report/company-report.js';
import type { OrderStack } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';

/** A run, to its end where it has one, and which run of it to keep. */
export interface RecordedRun {
  workflowId: string;
  runId?: string | undefined;
}

type Path = (stack: OrderStack) => Promise<RecordedRun>;
type SignalArguments = [{ deliveries: DeliveryNotice[] }];

const account: AccountName = toAccountName('business');
const newDeliveryId = () => randomUUID().replaceAll('-', '');
const notice = (deliveryId = newDeliveryId()): DeliveryNotice => ({
  deliveryId,
  eventType: 'business_report',
  receivedAt: '2031-05-01T10:00:00.000Z',
});

interface Reported {
  about?: string;
  input?: Partial<CompanyReportInput>;
  limits?: Partial<CompanyReportLimits>;
}

/** Signals with start, as the ingress does; without `about` it is a report that names no order. */
async function reported({ client, config }: OrderStack, { about, input = {}, limits = {} }: Reported) {
  const deliveryId = newDeliveryId();
  const order = about === undefined ? {} : { orderId: toOrderId(about) };
  const given = { maxEvents: 1_000, maxSignals: 1_000, quietMs: 1_500, ...limits };
  const handle = await client.workflow.signalWithStart<typeof companyReport, SignalArguments>('companyReport', {
    workflowId: companyReportId({ account, about: toOrderId(about ?? deliveryId) }),
    taskQueue: config.taskQueue,
    args: [{ account, ...order, ...input }, { limits: given }],
    signal: 'deliveryReceived',
    signalArgs: [{ deliveries: [notice(deliveryId)] }],
  });
  return { handle, report: () => handle.signal('deliveryReceived', { deliveries: [notice()] }) };
}

const ended = (stack: OrderStack) => stack.newOrder('business', [['Completed', 0]]);

async function continued(stack: OrderStack) {
  const { handle, report } = await reported(stack, { about: ended(stack), limits: { maxSignals: 3 } });
  const { runId } = await handle.describe();
  await Promise.all([report(), report(), report(), report()]);
  await handle.result();
  return { workflowId: handle.workflowId, firstRunId: runId };
}

const reportPaths: Record<string, Path> = {
  async 'report-read'(stack) {
    const { handle } = await reported(stack, { about: ended(stack) });
    await handle.result();
    return handle;
  },
  async 'report-again-during-the-read'(stack) {
    const orderId = ended(stack);
    const fault = stack.sandbox.setFault({ kind: 'slow', delayMs: 500, orderId });
    const { handle, report } = await reported(stack, { about: orderId });
    await vi.waitFor(() => expect(stack.sandbox.ledger({ orderId })).toHaveLength(1), patient);
    await report();
    await report();
    await handle.result();
    stack.sandbox.clearFault(fault);
    return handle;
  },
  async 'report-not-ready'(stack) {
    const orderId = stack.newOrder('business', [['Driving', 0]]);
    const { handle } = await reported(stack, { about: orderId });
    await vi.waitFor(() => expect(stack.sandbox.ledger({ orderId }).length).toBeGreaterThanOrEqual(2), patient);
    stack.sandbox.setStatus('business', orderId, 'Completed');
    await handle.result();
    return handle;
  },
  async 'report-forbidden'(stack) {
    const orderId = ended(stack);
    const fault = stack.sandbox.setFault({ kind: 'forbidden', orderId });
    const { handle, report } = await reported(stack, { about: orderId, limits: { quietMs: 4_000 } });
    const refused = { unavailable: { code: 'forbidden' } };
    await vi.waitFor(async () => expect(await handle.query('reportStatus')).toMatchObject(refused), patient);
    await report();
    // The read that the report asks for waits a minute, as the refusal told it to.
    const waiting = async () =>
      (await handle.describe()).raw.pendingActivities?.map(({ activityType }) => activityType?.name);
    await vi.waitFor(async () => expect(await waiting()).toEqual(['readReceipt']), patient);
    stack.sandbox.clearFault(fault);
    return await terminated(handle);
  },
  async 'report-with-attention'(stack) {
    const orderId = ended(stack);
    stack.sandbox.setFault({ kind: 'unauthorized', orderId });
    const { handle } = await reported(stack, { about: orderId });
    const attention = async () => (await handle.describe()).searchAttributes.RideAttention;
    await vi.waitFor(async () => expect(await attention()).toEqual(['credentialsRejected']), patient);
    stack.sandbox.clearFaults();
    await handle.result();
    return handle;
  },
  async 'report-without-order-that-tells-others'(stack) {
    const notify = [{ workflowId: 'nobody', signal: 'reportChanged' }];
    const { handle } = await reported(stack, { input: { notify } });
    await handle.result();
    return handle;
  },
  async 'report-continued-as-new'(stack) {
    const { workflowId, firstRunId } = await continued(stack);
    return { workflowId, runId: firstRunId };
  },
  async 'report-after-continue-as-new'(stack) {
    const { workflowId } = await continued(stack);
    return { workflowId };
  },
  async 'report-cancelled'(stack) {
    const { handle } = await reported(stack, { about: ended(stack) });
    const read = { receipt: expect.any(Object) };
    await vi.waitFor(async () => expect(await handle.query('reportStatus')).toMatchObject(read), patient);
    await handle.cancel();
    await handle.result().catch(() => undefined);
    return handle;
  },
  async 'report-with-bad-input'(stack) {
    const { handle } = await reported(stack, { input: { poll: 5 } as never });
    await handle.result().catch(() => undefined);
    return handle;
  },
};

async function terminated(handle: { workflowId: string; terminate(): Promise<unknown> }): Promise<RecordedRun> {
  await handle.terminate();
  return handle;
}

async function parked({ client, config }: OrderStack, more: object = {}) {
  const key = { account, deliveryId: newDeliveryId() };
  const receivedAt = '2031-05-01T10:00:00.000Z';
  const input = { ...key, eventType: 'status_changed', receivedAt, reason: 'noOrderId', sealed: 'sealed' } as const;
  return await client.workflow.start<typeof parkedDelivery>('parkedDelivery', {
    workflowId: parkedDeliveryId(key),
    taskQueue: config.taskQueue,
    args: [{ ...input, ...more }],
  });
}

const parkedPaths: Record<string, Path> = {
  async 'parked-routed'(stack) {
    const handle = await parked(stack);
    await handle.executeUpdate('routeDelivery', { args: [{ orderId: ended(stack) }] });
    await handle.result();
    return handle;
  },
  async 'parked-report-routed'(stack) {
    const handle = await parked(stack, { eventType: 'business_report' });
    await handle.executeUpdate('routeDelivery', { args: [{ orderId: ended(stack) }] });
    await handle.result();
    return handle;
  },
  async 'parked-discarded'(stack) {
    const handle = await parked(stack);
    await handle.executeUpdate('routeDelivery', { args: [{} as never] }).catch(() => undefined);
    await handle.executeUpdate('discardDelivery', { args: [{ reason: 'recorded' }] });
    await handle.result();
    return handle;
  },
  async 'parked-with-bad-input'(stack) {
    const handle = await parked(stack, { reason: 'unlucky' });
    await handle.result().catch(() => undefined);
    return handle;
  },
};

/** Every way through the workflows of reports and of parked deliveries, by name. */
export const recordedDeliveryPaths = { ...reportPaths, ...parkedPaths };
