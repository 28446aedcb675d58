import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, WorkflowHandle } from '@temporalio/client';

/** Actions of Temporal Cloud by kind, in the words of its list (https://docs.temporal.io/cloud/actions). */
export type Actions = ReadonlyMap<string, number>;

const attempts = 'activity attempt';
const upserts = 'search attributes upserted';

const eventKinds: Readonly<Record<string, string>> = {
  workflowExecutionStartedEventAttributes: 'workflow started',
  workflowExecutionSignaledEventAttributes: 'signal sent',
  activityTaskStartedEventAttributes: attempts,
  timerStartedEventAttributes: 'timer started',
  upsertWorkflowSearchAttributesEventAttributes: upserts,
  workflowPropertiesModifiedEventAttributes: 'memo upserted',
  workflowExecutionUpdateAcceptedEventAttributes: 'update',
  markerRecordedEventAttributes: 'marker recorded',
  startChildWorkflowExecutionInitiatedEventAttributes: 'child workflow started',
  signalExternalWorkflowExecutionInitiatedEventAttributes: 'signal sent by a run',
};

/** The part of an event that is counted. `attributes`: the name of the field that is set. */
export interface CountedEvent {
  attributes?: string | undefined;
  activityTaskStartedEventAttributes?: { attempt?: number | null } | null;
}

/** The actions in a history. Each attempt of an activity is one; heartbeats and queries leave no event. */
export function actionsIn(events: readonly CountedEvent[]): Actions {
  const actions = new Map<string, number>();
  for (const { attributes = '', activityTaskStartedEventAttributes: started } of events) {
    const kind = eventKinds[attributes];
    if (kind !== undefined) actions.set(kind, (actions.get(kind) ?? 0) + (started?.attempt ?? 1));
  }
  return actions;
}

/** What the server itself counts as actions, by the words of its metric. */
const words: Readonly<Record<string, string>> = {
  grpc_StartWorkflowExecution: 'workflow started',
  grpc_SignalWorkflowExecution: 'signal sent',
  grpc_SignalWithStartWorkflowExecution: 'workflow started by a signal',
  grpc_QueryWorkflow: 'query',
  grpc_RecordActivityTaskHeartbeat: 'heartbeat',
  command_ScheduleActivityTask: attempts,
  activity_retry: attempts,
  command_StartTimer: 'timer started',
  command_UpsertWorkflowSearchAttributes: upserts,
  command_ModifyWorkflowProperties: 'memo upserted',
  command_RecordMarker: 'marker recorded',
  command_ContinueAsNewWorkflowExecution: 'workflow started',
};

const line = /^action\{(.*)\} (\S+)$/gm;
const labelOf = (labels: string, name: string): string | undefined =>
  new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(labels)?.[1];

/** Reads the text that a Temporal server shows at its port for metrics: actions of one namespace since its start. */
export function parseActions(text: string, namespace = 'default'): Actions {
  const actions = new Map<string, number>();
  for (const [, labels = '', count] of text.matchAll(line)) {
    if (labelOf(labels, 'namespace') !== namespace) continue;
    const type = labelOf(labels, 'action_type') ?? '';
    const kind = words[type] ?? type;
    actions.set(kind, (actions.get(kind) ?? 0) + Number(count));
  }
  return actions;
}

/** The server shows its counters a second late. */
const showsWithinMs = 2_000;

/** Asks a running server; none without the address of its metrics. */
export async function actionsOfServer(metricsUrl: string | null): Promise<Actions> {
  await sleep(showsWithinMs);
  return metricsUrl === null ? new Map() : parseActions(await (await fetch(metricsUrl)).text());
}

/** What came since the first count. */
export const actionsBetween = (before: Actions, after: Actions): Actions =>
  new Map([...after].map(([kind, count]) => [kind, count - (before.get(kind) ?? 0)]));

export const heartbeats = 'heartbeat';

/** All but heartbeats. */
export const sumOfActions = (actions: Actions): number =>
  [...actions].reduce((sum, [kind, count]) => (kind === heartbeats ? sum : sum + count), 0);

/** The actions of one run, by its history. */
export async function actionsOfRun(
  client: Client,
  { workflowId }: Pick<WorkflowHandle, 'workflowId'>,
): Promise<Actions> {
  const { events } = await client.workflow.getHandle(workflowId).fetchHistory();
  return actionsIn((events ?? []) as CountedEvent[]);
}
