import type { Payload } from '@temporalio/common';
import type { AccountName } from '../../domain/keys.js';
import type { ParkedDelivery, ParkedDeliveryInput } from '../../domain/parked.js';
import { parseParkedDeliveryInput } from '../../domain/parked.js';
import { publishedDelivery } from '../../domain/published.js';
import { type ParkedDeliveryKey, parkedDeliveryId } from '../../domain/workflow-ids.js';
import { runOf } from '../../temporal/runs.js';
import { callTimeoutMs, type Session } from '../command.js';
import { CliFailure } from '../failure.js';

/** What Temporal itself knows of a parked delivery; that needs no worker. */
export interface ParkedOutline {
  isOpen: boolean;
  /** Null until a worker has seen the run. */
  delivery: ParkedDelivery | null;
}

/** The first of these accounts that has parked the delivery. Throws `CliFailure` NotParked. */
export async function getParked(
  { client }: Session,
  accounts: readonly AccountName[],
  deliveryId: string,
): Promise<ParkedOutline & { key: ParkedDeliveryKey }> {
  for (const account of accounts) {
    const key = { account, deliveryId };
    const found = await runOf(client, parkedDeliveryId(key)).find({ withinMs: callTimeoutMs });
    if (found) return { key, isOpen: found.isOpen, delivery: publishedDelivery(found.memo) };
  }
  throw new CliFailure('NotParked', `no delivery ${deliveryId} is parked there; see: faretrail delivery parked`);
}

/** What the run was started with, the sealed content included: the one place that holds it is the first event. */
export async function readParkedInput(session: Session, key: ParkedDeliveryKey): Promise<ParkedDeliveryInput> {
  const run = session.client.workflow.getHandle(parkedDeliveryId(key));
  const { events } = await session.within(callTimeoutMs, () => run.fetchHistory());
  const [payload] = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
  if (!payload) throw new CliFailure('ContentUnreadable', 'Temporal does not show what the run was started with');
  const { payloadCodecs, payloadConverter } = session.client.options.loadedDataConverter;
  let payloads: Payload[] = [payload];
  // Of a history the client decrypts nothing.
  for (const codec of payloadCodecs) payloads = await codec.decode(payloads);
  return parseParkedDeliveryInput(payloadConverter.fromPayload(payloads[0] ?? payload));
}
