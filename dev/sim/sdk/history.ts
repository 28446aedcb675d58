// Splits a history into workflow tasks.
import type { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';

/** An event of the protocol. The name of its attributes field says its kind. */
export type Event = NonNullable<ReturnType<typeof historyFromJSON>['events']>[number];

type Suffixed<Name> = Name extends `${infer Kind}EventAttributes` ? Kind : never;
export type EventKind = Suffixed<keyof Event>;

/** The attributes of an event of this kind. */
export type Attributes<Kind extends EventKind> = NonNullable<Event[`${Kind}EventAttributes`]>;

export const attributesOf = <Kind extends EventKind>(
  event: Event | undefined,
  kind: Kind,
): Attributes<Kind> | undefined => (event?.[`${kind}EventAttributes`] ?? undefined) as Attributes<Kind> | undefined;

/** A completed workflow task in a history. */
export interface PastTask {
  started: Event;
  /** Events that the run learns of in this task. */
  news: Event[];
  /** Events written for the run's commands. */
  done: Event[];
  /** Update requests by id that were recorded before they were accepted, as after a reset. */
  admitted: ReadonlyMap<string, UpdateRequest>;
  /** Does it hold the news of earlier tasks, which a run that is not rebuilt has learned of one task at a time? */
  isMerged: boolean;
}

type UpdateRequest = NonNullable<Attributes<'workflowExecutionUpdateAdmitted'>['request']>;

/**
 * The completed tasks of a history, and the events that no completed task has seen. Events of a failed task are
 * repeated in the next one. The same holds for a completed task without commands if the next task is scheduled at once
 * and the previous task had no commands either: sdk-core takes such a task for a heartbeat.
 */
export function tasksOf(events: readonly Event[]): { past: PastTask[]; rest: Event[] } {
  const past: PastTask[] = [];
  let news: Event[] = [];
  const admitted = new Map<string, UpdateRequest>();
  let isAfterCommands = false;
  let isMerged = false;
  for (let at = 0; at < events.length; at += 1) {
    const event = events[at] as Event;
    const completed = attributesOf(events[at + 1], 'workflowTaskCompleted');
    if (!attributesOf(event, 'workflowTaskStarted')) {
      const { request } = attributesOf(event, 'workflowExecutionUpdateAdmitted') ?? {};
      if (request) admitted.set(request.meta?.updateId ?? '', request);
      if (isNews(event)) news.push(event);
      continue;
    }
    if (!completed) continue;
    const done = commandsAfter(events, at + 1);
    const next = events[at + 2 + done.length];
    at += 1 + done.length;
    if (!isAfterCommands && done.length === 0 && attributesOf(next, 'workflowTaskScheduled')) {
      isMerged = true;
      continue;
    }
    past.push({ started: event, news, done, admitted, isMerged });
    news = [];
    isMerged = false;
    isAfterCommands = done.length > 0;
  }
  return { past, rest: news };
}

const isNews = (event: Event): boolean =>
  !attributesOf(event, 'workflowTaskScheduled') &&
  !attributesOf(event, 'workflowTaskTimedOut') &&
  !attributesOf(event, 'workflowTaskCompleted');

/** The events for the commands of the task that was completed by the event at this index. */
function commandsAfter(events: readonly Event[], at: number): Event[] {
  const completed = Number(events[at]?.eventId);
  const rest = events.slice(at + 1);
  const end = rest.findIndex((event) => !isCommandOf(event, completed));
  return end < 0 ? rest : rest.slice(0, end);
}

function isCommandOf(event: Event, completedId: number): boolean {
  if (event.workflowExecutionUpdateAcceptedEventAttributes || event.workflowExecutionUpdateCompletedEventAttributes)
    return true;
  const [, attributes] = Object.entries(event).find(([name]) => name.endsWith('EventAttributes')) ?? [];
  const by = (attributes as { workflowTaskCompletedEventId?: unknown } | undefined)?.workflowTaskCompletedEventId;
  return by !== undefined && by !== null && Number(by) === completedId;
}
