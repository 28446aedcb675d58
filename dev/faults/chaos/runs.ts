import type { Client } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import protocol from '@temporalio/proto';
import type { DeliveryNotice } from '../../../src/domain/delivery.js';
import { decodeAll, type HistoryEvents } from '../../../src/temporal/runs.js';
import type { Stage } from './stage.js';
import { isNoFault } from './task-failures.js';

/** Deliveries that a signal counts without their ids. They arrived between two instants, in milliseconds since the epoch. */
export interface LeftOut {
  from: number;
  to: number;
  count: number;
}

/** What Temporal keeps of a run. */
export interface Run {
  workflowId: string;
  type: string;
  /** `RUNNING`, `COMPLETED`, `FAILED` ... */
  status: string;
  startedAt: number;
  /** Milliseconds since the epoch; null while it runs. */
  closedAt: number | null;
  events: number;
  /** Ids of the deliveries that reached it, each as often as it came. */
  deliveries: string[];
  /** Deliveries that its signals count without their ids. */
  leftOut: LeftOut[];
  /** Causes of failed workflow tasks, except those that are no fault. */
  taskFailures: string[];
  attention: string | null;
  /** History and memo as JSON. */
  text: string;
}

/** Gives all runs, or those that fit the query, one after the other, since memory would not hold all their texts. */
export async function* allRuns({ client }: Pick<Stage, 'client'>, query = ''): AsyncGenerator<Run> {
  for await (const { workflowId, runId, type, status, startTime, closeTime } of client.workflow.list({ query })) {
    const handle = client.workflow.getHandle(workflowId, runId);
    const [history, about] = await Promise.all([handle.fetchHistory(), handle.describe()]);
    const text = historyToJSON(history);
    const events = history.events ?? [];
    yield {
      workflowId,
      type,
      status: about.status.name ?? status.name,
      startedAt: startTime.getTime(),
      closedAt: (about.closeTime ?? closeTime)?.getTime() ?? null,
      events: events.length,
      ...(await deliveriesOf(events, client)),
      taskFailures: await taskFailuresOf(events, client),
      attention: about.searchAttributes.RideAttention?.[0]?.toString() ?? null,
      text: text + JSON.stringify(about.memo ?? {}),
    };
  }
}

type Notices = Pick<DeliveryNotice, 'deliveryId' | 'receivedAt' | 'standsFor'>[];

async function deliveriesOf(events: HistoryEvents, client: Client): Promise<Pick<Run, 'deliveries' | 'leftOut'>> {
  const ids: string[] = [];
  const leftOut: LeftOut[] = [];
  for (const { workflowExecutionSignaledEventAttributes: signal } of events) {
    if (signal?.signalName !== 'deliveryReceived') continue;
    // The suite sends some unreadable messages on purpose.
    const [message] = await decodeAll(client, signal.input?.payloads).catch(() => []);
    const { deliveries } = (message ?? {}) as { deliveries?: Notices };
    if (!Array.isArray(deliveries)) continue;
    ids.push(...deliveries.map(({ deliveryId }) => deliveryId));
    const [oldest, next] = deliveries;
    if (!oldest?.standsFor || !next) continue;
    const [from, to] = [oldest, next].map(({ receivedAt }) => Date.parse(receivedAt)) as [number, number];
    leftOut.push({ from, to, count: oldest.standsFor - 1 });
  }
  return { deliveries: ids, leftOut };
}

async function taskFailuresOf(events: HistoryEvents, client: Client): Promise<string[]> {
  const faults: string[] = [];
  for (const { workflowTaskFailedEventAttributes: failed } of events) {
    if (!failed) continue;
    const { failure, cause } = failed;
    // Workers that encrypt payloads encrypt messages, too.
    const [encoded] = await decodeAll(client, failure?.encodedAttributes ? [failure.encodedAttributes] : []);
    const { message = failure?.message ?? '' } = (encoded ?? {}) as { message?: string };
    const name = protocol.temporal.api.enums.v1.WorkflowTaskFailedCause[cause ?? 0] ?? '';
    if (!isNoFault(name, message)) faults.push(`${name}: ${message}`);
  }
  return faults;
}

/** Runs that have no end of their own. */
const endless = ['accessToken', 'accountWatch', 'subscription'];

/** Ids of runs that go on without work. */
export async function stillRunning({ client }: Stage): Promise<string[]> {
  const left: string[] = [];
  for await (const { workflowId, type } of client.workflow.list({ query: 'ExecutionStatus = "Running"' })) {
    if (!endless.includes(type)) left.push(workflowId);
  }
  return left;
}
