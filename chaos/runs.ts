import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import type { Stage } from './stage.js';
import { isNoFault } from './task-failures.js';

/** What Temporal keeps of a run. */
export interface Run {
  workflowId: string;
  type: string;
  /** `RUNNING`, `COMPLETED`, `FAILED` ... */
  status: string;
  /** Milliseconds since the epoch; null while it runs. */
  closedAt: number | null;
  events: number;
  /** Ids of the deliveries that reached it, each as often as it came. */
  deliveries: string[];
  /** Causes of failed workflow tasks, except those that are no fault. */
  taskFailures: string[];
  attention: string | null;
  /** History and memo as JSON. */
  text: string;
}

/** The used part of a history, as Temporal's own tools write it. */
interface Event {
  workflowExecutionSignaledEventAttributes?: { signalName: string; input?: { payloads?: { data: string }[] } };
  workflowTaskFailedEventAttributes?: { cause: string; failure?: { message?: string } };
}

/** Gives all runs one after the other, since memory would not hold all their texts. */
export async function* allRuns({ client }: Stage): AsyncGenerator<Run> {
  for await (const { workflowId, runId, type, status, closeTime } of client.workflow.list()) {
    const handle = client.workflow.getHandle(workflowId, runId);
    const [history, about] = await Promise.all([handle.fetchHistory(), handle.describe()]);
    const text = historyToJSON(history);
    const { events = [] } = JSON.parse(text) as { events?: Event[] };
    yield {
      workflowId,
      type,
      status: about.status.name ?? status.name,
      closedAt: (about.closeTime ?? closeTime)?.getTime() ?? null,
      events: events.length,
      deliveries: events.flatMap(deliveriesOf),
      taskFailures: events.flatMap(taskFailureOf),
      attention: about.searchAttributes.RideAttention?.[0]?.toString() ?? null,
      text: text + JSON.stringify(about.memo ?? {}),
    };
  }
}

function deliveriesOf({ workflowExecutionSignaledEventAttributes: signal }: Event): string[] {
  if (signal?.signalName !== 'deliveryReceived') return [];
  const [payload] = signal.input?.payloads ?? [];
  return deliveryIdsIn(Buffer.from(payload?.data ?? '', 'base64').toString());
}

/** The suite sends some unreadable messages on purpose. */
function deliveryIdsIn(text: string): string[] {
  try {
    return (JSON.parse(text) as { deliveries: { deliveryId: string }[] }).deliveries.map(
      ({ deliveryId }) => deliveryId,
    );
  } catch {
    return [];
  }
}

function taskFailureOf({ workflowTaskFailedEventAttributes: failed }: Event): string[] {
  const message = failed?.failure?.message ?? '';
  return !failed || isNoFault(failed.cause, message) ? [] : [`${failed.cause}: ${message}`];
}

/** Runs that have no end of their own. */
const endless = ['accessToken', 'subscription'];

/** Ids of runs that go on without work. */
export async function stillRunning({ client }: Stage): Promise<string[]> {
  const left: string[] = [];
  for await (const { workflowId, type } of client.workflow.list({ query: 'ExecutionStatus = "Running"' })) {
    if (!endless.includes(type)) left.push(workflowId);
  }
  return left;
}
