import type { Client } from '@temporalio/client';
import { followRequestedSignal } from '../workflows/messages.js';
import { runOf } from './runs.js';

/** Something that somebody did to a run, as Temporal recorded it. */
export interface Decision {
  /** ISO 8601 UTC. */
  at: string;
  /** `start`, `cancel`, `terminate`, or the name of the update or signal. */
  what: string;
  /** The identity that the caller's Temporal client gave, which nothing proves. */
  by: string;
  /** Whom the server's authorizer has seen; null unless the server keeps that. */
  principal: string | null;
}

type HistoryEvent = Awaited<ReturnType<ReturnType<typeof runOf>['events']>>[number];

/** Earlier runs are read as far back as this. */
const mostRuns = 10;

/** Who decided what about the run of this id and the runs that it continues as new, oldest first. Needs no worker and no payload key. */
export async function readDecisions(client: Client, workflowId: string, withinMs: number): Promise<Decision[]> {
  const decisions: Decision[] = [];
  let runId: string | undefined;
  for (let runs = 0; runs < mostRuns; runs += 1) {
    const events = await runOf(client, workflowId, runId).events({ withinMs });
    decisions.unshift(...events.flatMap(toDecision));
    runId = events[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId ?? undefined;
    if (!runId) break;
  }
  return decisions;
}

function toDecision(event: HistoryEvent): Decision[] {
  const [what, by] = whatAndWho(event);
  if (!what || !by) return [];
  const { seconds, nanos } = event.eventTime ?? {};
  return [
    {
      at: new Date(Number(seconds ?? 0) * 1_000 + (nanos ?? 0) / 1e6).toISOString(),
      what,
      by,
      principal: event.principal?.name || null,
    },
  ];
}

function whatAndWho(event: HistoryEvent): (string | null | undefined)[] {
  const started = event.workflowExecutionStartedEventAttributes;
  if (started) return ['start', started.identity]; // nobody starts a run that continues another
  const update = event.workflowExecutionUpdateAcceptedEventAttributes?.acceptedRequest;
  if (update) return [update.input?.name, update.meta?.identity];
  const signal = event.workflowExecutionSignaledEventAttributes;
  if (signal?.signalName === followRequestedSignal.name) return [signal.signalName, signal.identity];
  const cancelled = event.workflowExecutionCancelRequestedEventAttributes;
  if (cancelled) return ['cancel', cancelled.identity];
  const terminated = event.workflowExecutionTerminatedEventAttributes;
  return terminated ? ['terminate', terminated.identity] : [];
}
