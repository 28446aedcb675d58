import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import type { Stage } from './stage.js';
import { isNoFault } from './task-failures.js';

/** What a run left in Temporal. */
export interface Run {
  workflowId: string;
  type: string;
  /** `RUNNING`, `COMPLETED`, `FAILED` ... */
  status: string;
  /** Milliseconds since the epoch; null while it runs. */
  closedAt: number | null;
  events: number;
  /** Ids of the deliveries that reached it, repeated ones more than once. */
  deliveries: string[];
  /** Causes of workflow tasks that failed, without those that are no fault. */
  taskFailures: string[];
  attention: string | null;
  /** History and memo as JSON. */
  text: string;
}

/** As Temporal's own tools write it; what is looked at here. */
interface Event {
  workflowExecutionSignaledEventAttributes?: { signalName: string; input?: { payloads?: { data: string }[] } };
  workflowTaskFailedEventAttributes?: { cause: string; failure?: { message?: string } };
}

/** Every run there is, one after the other: the texts of all are too much to hold. */
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

/** Some messages make no sense on purpose. */
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

/** Ids of runs that go on although nothing is left to do. */
export async function stillRunning({ client }: Stage): Promise<string[]> {
  const left: string[] = [];
  for await (const { workflowId, type } of client.workflow.list({ query: 'ExecutionStatus = "Running"' })) {
    if (!endless.includes(type)) left.push(workflowId);
  }
  return left;
}
