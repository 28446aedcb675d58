import type { AttentionCode } from '../../domain/attention.js';
import { parkReasonTexts } from '../../domain/delivery.js';
import type { RunInNeed } from '../../temporal/attention.js';

const askDesk = 'Ask the service or the driver. You may have the order read now.';
const tellOperator = 'Tell the person who runs faretrail. It goes on by itself once this is repaired.';

/** What a dispatcher does about each code. */
const remedies: Readonly<Record<AttentionCode, string>> = {
  stuckInStatus: askDesk,
  latePickup: askDesk,
  customerCare: 'Customer care of the service has the order. Ask them.',
  outcomeUnknown: 'Check with the service if the order exists, then resolve the ride.',
  orderNotFound: 'Check the order id with whoever gave it. Stop the order if it is wrong.',
  subscriptionSilent: 'Nothing to do for a ride: changes are found by reading. Tell the person who runs faretrail.',
  deliveriesUnverified: 'Nothing to do for a ride: changes are found by reading. Tell the person who runs faretrail.',
  unreadableStatus: tellOperator,
  credentialsRejected: tellOperator,
  scopeRejected: tellOperator,
  grantRejected: tellOperator,
  forbidden: tellOperator,
  upstreamUnavailable: 'Wait: faretrail keeps trying. If it lasts, ask the service.',
};

/** What to do about an attention code, of a later release, too. */
export const remedyFor = (code: string): string =>
  Object.hasOwn(remedies, code) ? remedies[code as AttentionCode] : tellOperator;

/** The same for a run of any kind. */
export function remedyOf({ kind, code }: Pick<RunInNeed, 'kind' | 'code'>): string {
  if (kind === 'parked') return 'Give the delivery to its order, or discard it.';
  if (kind === 'account') return 'No worker reads the orders of this account. Tell the person who runs faretrail.';
  if (code === 'paused') return 'Somebody has paused it in Temporal. Tell the person who runs faretrail.';
  return remedyFor(code);
}

/** A code in words. */
export function inWords(code: string): string {
  if (Object.hasOwn(parkReasonTexts, code)) return parkReasonTexts[code as keyof typeof parkReasonTexts];
  return code.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
}
