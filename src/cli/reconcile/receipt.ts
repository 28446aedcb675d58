import { isDeepStrictEqual } from 'node:util';
import type { RideResult } from '../../client/index.js';
import { ownValue } from '../../contracts/json.js';
import { toOrderId } from '../../domain/keys.js';
import { type RequestRideKey, requestRideId } from '../../domain/workflow-ids.js';
import { decodeAll } from '../../temporal/payloads.js';
import { hasCode } from '../../temporal/run-errors.js';
import { runOf } from '../../temporal/runs.js';
import { readReceiptOf } from '../../temporal/single-reads.js';
import { callTimeoutMs, type Session } from '../command.js';
import { type Finding, unread } from './order.js';

/** Compares the receipt of a ride that has ended with the service. The result of a ride is final, so nothing is mended. */
export async function reconcileReceipt(session: Session, key: RequestRideKey): Promise<Finding> {
  const { client, config, commandLine } = session;
  const ended = await resultOf(session, key);
  if (!ended?.orderId || !(ended.receipt ?? (await wantsReceipt(session, key)))) return null;
  const { account, requestId } = key;
  const { receipt } = ended;
  const orderId = toOrderId(ended.orderId);
  const was = receipt ? 'a receipt' : 'no receipt';
  const seen = await readReceiptOf(client, config.taskQueue, { account, orderId });
  if (seen.kind === 'trouble') {
    const { code, message } = seen.trouble;
    const isMissing = code === 'notReady' || code === 'notOffered';
    return isMissing && !receipt ? null : unread({ account, orderId, requestId }, was, `${code}: ${message}`);
  }
  if (isDeepStrictEqual(seen.receipt, receipt)) return null;
  const hint = commandLine('call', account, 'orderReceipt', '--order', orderId);
  return { account, orderId, requestId, was, is: receipt ? 'another receipt' : 'a receipt', done: 'toDo', hint };
}

/** Of a ride that has ended with its order; the service has no receipt of others. */
async function resultOf({ rides, within }: Session, { account, requestId }: RequestRideKey) {
  try {
    const result: RideResult = await within(callTimeoutMs, () => rides.getRide(account, requestId).result());
    return result.outcome === 'completed' || result.outcome === 'cancelled' ? result : null;
  } catch (error) {
    if (hasCode(error, 'NotFound')) return null; // past its retention since it was listed
    throw error;
  }
}

async function wantsReceipt({ client }: Session, key: RequestRideKey): Promise<boolean> {
  const [first] = await runOf(client, requestRideId(key)).events({ withinMs: callTimeoutMs });
  const input = first?.workflowExecutionStartedEventAttributes?.input;
  const [asked] = await decodeAll(client, input?.payloads);
  return ownValue(asked, 'receipt') === true;
}
