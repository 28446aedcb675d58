import { randomUUID } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import type { DeliveryNotice } from '../../../src/domain/delivery.js';
import { type AccountName, type OrderId, toAccountName, toOrderId } from '../../../src/domain/keys.js';
import type { CompanyReportInput } from '../../../src/domain/report.js';
import { type CompanyReportKey, companyReportId, type FollowOrderKey } from '../../../src/domain/workflow-ids.js';
import { createDeliveryPort } from '../../../src/temporal/deliveries.js';
import type { DeliveryPort } from '../../../src/webhooks/delivery-port.js';
import type { CompanyReportLimits, companyReport } from '../../../src/workflows/report/company-report.js';
import type { OrderStack, Place } from '../order/stack.js';

/** A delivery that no run has seen yet. */
export const newDelivery = (more: Partial<DeliveryNotice> = {}): DeliveryNotice => ({
  deliveryId: randomUUID().replaceAll('-', ''),
  eventType: 'status_changed',
  receivedAt: new Date().toISOString(),
  ...more,
});

/** A delivery that claims a status. */
export const deliveryOf = (status: string): DeliveryNotice => newDelivery({ status });
export const newReport = (): DeliveryNotice => newDelivery({ eventType: 'business_report' });

/** Hands deliveries to a run, as the ingress does. */
export const deliver = (run: Pick<WorkflowHandle, 'signal'>, ...deliveries: DeliveryNotice[]): Promise<void> =>
  run.signal('deliveryReceived', { deliveries });

/** The way of the ingress to the runs of a stack. */
export const portOf = ({ client, config }: Place, untracked: 'follow' | 'ignore' = 'follow') =>
  withWays(createDeliveryPort({ client, taskQueue: config.taskQueue, untracked: () => untracked }));

/** The same port, with a way to orders and one to reports. */
export const withWays = (port: DeliveryPort) => ({
  ...port,
  toOrder: (key: FollowOrderKey, deliveries: DeliveryNotice[]) =>
    port.toRun({ ...key, eventType: 'status_changed', deliveryId: '' }, deliveries),
  toReport: ({ account, about }: CompanyReportKey, deliveries: DeliveryNotice[]) => {
    const orderId = deliveries.some(({ deliveryId }) => deliveryId === about) ? null : (about as OrderId);
    return port.toRun({ account, eventType: 'business_report', orderId, deliveryId: about }, deliveries);
  },
});

interface Reported {
  account?: AccountName;
  /** Missing: a report that names no order. */
  orderId?: string;
  deliveries?: DeliveryNotice[];
  input?: Partial<CompanyReportInput>;
  /** Missing: those of production. */
  limits?: Partial<CompanyReportLimits>;
}

/** Reports to `companyReport` by a signal with start, as the ingress does. */
export function reported({ client, config }: Pick<OrderStack, 'client' | 'config'>, about: Reported) {
  const { account = toAccountName('business'), orderId, deliveries = [newReport()], input = {}, limits } = about;
  const key = { account, about: toOrderId(orderId ?? deliveries[0]?.deliveryId ?? randomUUID()) };
  const given = { account, ...(orderId === undefined ? {} : { orderId: key.about }), ...input };
  const most = { maxEvents: 4_000, maxSignals: 5_000, quietMs: 3_600_000 };
  return client.workflow.signalWithStart<typeof companyReport, [{ deliveries: DeliveryNotice[] }]>('companyReport', {
    workflowId: companyReportId(key),
    taskQueue: config.taskQueue,
    args: limits ? [given, { limits: { ...most, ...limits } }] : [given],
    signal: 'deliveryReceived',
    signalArgs: [{ deliveries }],
  });
}
