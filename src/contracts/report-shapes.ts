import { z } from 'zod';
import { AccountNameShape, AttentionShape, NotifyShape, OrderIdShape } from './order-shapes.js';

/** What `companyReport` is started with. */
export const CompanyReportInputShape = z.strictObject({
  account: AccountNameShape.describe('Name of a business account that the workers hold.'),
  orderId: OrderIdShape.nullish().describe('Absent where the reports name no order: then there is no receipt.'),
  notify: z.array(NotifyShape).max(10).nullish(),
});

const ReceiptShape = z.record(z.string(), z.unknown()).nullable().describe('As the last read found it; it may change.');
const ReportsShape = z
  .array(z.object({ deliveryId: z.string(), receivedAt: z.string() }))
  .describe('Newest last, the last 20, each once.');
const UnavailableShape = AttentionShape.nullable().describe('Why the last look found no receipt.');

/** What a `notify` signal of a report carries. */
export const CompanyReportNoticeShape = z.object({
  account: z.string(),
  orderId: z.string().nullable(),
  reports: ReportsShape,
  receipt: ReceiptShape,
  receiptAt: z.string().nullable().describe('When it was read.'),
  unavailable: UnavailableShape,
});

/** Body of the request that a `notify` URL of a report gets. */
export const CompanyReportEventShape = z.object({
  type: z.literal('report.changed'),
  ...CompanyReportNoticeShape.shape,
});

/** What is known of a report and its receipt: the result of `companyReport`, and the answer of the query `reportStatus`. */
export const CompanyReportShape = z.object({
  ...CompanyReportNoticeShape.shape,
  deliveries: z.object({ received: z.int(), duplicate: z.int() }),
  reads: z.int(),
  attention: AttentionShape.nullable().describe('The same as unavailable, where it needs a person.'),
});
