import { type Client, QueryNotRegisteredError } from '@temporalio/client';
import type { EarlierRunReader } from '../activities/index.js';
import { readDeliveries } from '../domain/delivery.js';
import { InvalidInput } from '../domain/errors.js';
import { iso } from '../domain/instant.js';
import {
  type EarlierRun,
  leftAtStart,
  type RunLeft,
  withDeliveries,
  withRequest,
} from '../domain/order/earlier-run.js';
import { parseFollowOrderInput, readFollowRequest } from '../domain/order/input.js';
import { followOrderId } from '../domain/workflow-ids.js';
import { deliveryReceivedSignal, followRequestedSignal, leftByRunQuery } from '../workflows/messages.js';
import type { followOrder } from '../workflows/order/follow-order.js';
import { decodeAll } from './payloads.js';
import { hasCode, isGrpc } from './run-errors.js';
import { runOf } from './runs.js';

/** A worker has to replay the whole run to answer. */
const leftWithinMs = 10_000;

/** Queries closed runs of `followOrder`; any worker answers from their history. */
export const createEarlierRunReader =
  (client: Client): EarlierRunReader =>
  async ({ runId, ...key }) => {
    const workflowId = followOrderId(key);
    try {
      return await runOf(client, workflowId, runId).query(leftByRunQuery, { withinMs: leftWithinMs });
    } catch (error) {
      // The run has no completed workflow task, so no worker can answer.
      if (isGrpc(error, 'FAILED_PRECONDITION')) return await readNeverBegun(client, workflowId, runId);
      if (cannotSay(error)) return null;
      throw error;
    }
  };

/** The run is past its retention, failed before it set its handlers, is of another workflow type, or does not replay on this code. */
const cannotSay = (error: unknown): boolean =>
  hasCode(error, 'NotFound') ||
  error instanceof QueryNotRegisteredError ||
  isGrpc(error, 'INVALID_ARGUMENT', 'NOT_FOUND');

/** The input and the signals of such a run. Null when they are wrong, or the run is of another workflow type. */
async function readNeverBegun(client: Client, workflowId: string, runId: string): Promise<EarlierRun | null> {
  const events = await runOf(client, workflowId, runId).events({ withinMs: leftWithinMs });
  const [first] = events;
  const start = first?.workflowExecutionStartedEventAttributes;
  if (start?.workflowType?.name !== 'followOrder') return null;
  const startedAt = iso(Number(first?.eventTime?.seconds) * 1_000 + Math.floor(Number(first?.eventTime?.nanos) / 1e6));
  try {
    const args = (await decodeAll(client, start.input?.payloads)) as Parameters<typeof followOrder>;
    let left = toLeft(args, startedAt);
    for (const { workflowExecutionSignaledEventAttributes: signal } of events) {
      const [argument] = signal ? await decodeAll(client, signal.input?.payloads) : [];
      left = { ...left, ...withSignal(left, signal?.signalName, argument, startedAt) };
    }
    return { left, continues: args[1]?.continues ?? null };
  } catch (error) {
    if (error instanceof InvalidInput) return null;
    throw error;
  }
}

function toLeft([input, progress]: Parameters<typeof followOrder>, startedAt: string): RunLeft {
  const fresh = leftAtStart(parseFollowOrderInput(input), startedAt);
  if (!progress?.carried) return fresh;
  const { trail, inbox } = progress.carried;
  const { claims, seenDeliveries, receivers, leftOut } = inbox;
  return { ...fresh, trail, claims, seenDeliveries, receivers, leftOut };
}

function withSignal(left: RunLeft, name: string | null | undefined, argument: unknown, now: string): Partial<RunLeft> {
  if (name === deliveryReceivedSignal.name) return withDeliveries(left, readDeliveries(argument, now));
  if (name === followRequestedSignal.name) return withRequest(left, readFollowRequest(argument).request);
  return {};
}
