import { toInputFields } from './input-fields.js';
import { type AccountName, type OrderId, toAccountName, toOrderId } from './keys.js';
import { type Notify, toNotify } from './notify.js';

/** What `companyReport` is started with. */
export interface CompanyReportInput {
  account: AccountName;
  /** Absent when the report names no order: then there is no receipt to read. */
  orderId?: OrderId;
  /** Who is told of each report and of what its receipt says: workflows, by signal. */
  notify?: Notify[];
}

const known: readonly string[] = ['account', 'orderId', 'notify'];

/**
 * Reads the input of `companyReport`, which any language may send. Throws `InvalidInput` that names the field; unknown
 * fields are refused.
 */
export function parseCompanyReportInput(value: unknown): CompanyReportInput {
  const { account, orderId, notify } = toInputFields(value, known);
  const isAbout = orderId !== undefined && orderId !== null;
  const hasReceivers = notify !== undefined && notify !== null;
  return {
    account: toAccountName(account),
    ...(isAbout ? { orderId: toOrderId(orderId) } : {}),
    ...(hasReceivers ? { notify: toNotify(notify) } : {}),
  };
}
