// A history, as the server writes it, cut into the tasks that a worker sees.
import type { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';

/** An event of the protocol: its number, its time, and one field of attributes that names its kind. */
export type Event = NonNullable<ReturnType<typeof historyFromJSON>['events']>[number];

type Suffixed<Name> = Name extends `${infer Kind}EventAttributes` ? Kind : never;
export type EventKind = Suffixed<keyof Event>;

/** The attributes of an event of this kind. */
export type Attributes<Kind extends EventKind> = NonNullable<Event[`${Kind}EventAttributes`]>;

export const attributesOf = <Kind extends EventKind>(
  event: Event | undefined,
  kind: Kind,
): Attributes<Kind> | undefined => (event?.[`${kind}EventAttributes`] ?? undefined) as Attributes<Kind> | undefined;

/** What a workflow task was, as its history tells. */
export interface PastTask {
  started: Event;
  /** What the run is told. */
  news: Event[];
  /** What the server wrote for the commands of the run. */
  done: Event[];
  /** By their ids: updates that were written down before a run accepted them, as a reset does. */
  admitted: ReadonlyMap<string, UpdateRequest>;
}

type UpdateRequest = NonNullable<Attributes<'workflowExecutionUpdateAdmitted'>['request']>;

/**
 * The tasks of a history that have been completed, and what no task has told yet. What a failed one was told comes again with the next. So it
 * is with a completed one without commands that the next one follows at once, if the task before it had none either: sdk-core takes it for
 * a heartbeat.
 */
export function tasksOf(events: readonly Event[]): { past: PastTask[]; rest: Event[] } {
  const past: PastTask[] = [];
  let news: Event[] = [];
  const admitted = new Map<string, UpdateRequest>();
  let isAfterCommands = false;
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
    if (!isAfterCommands && done.length === 0 && attributesOf(next, 'workflowTaskScheduled')) continue;
    past.push({ started: event, news, done, admitted });
    news = [];
    isAfterCommands = done.length > 0;
  }
  return { past, rest: news };
}

const isNews = (event: Event): boolean =>
  !attributesOf(event, 'workflowTaskScheduled') &&
  !attributesOf(event, 'workflowTaskTimedOut') &&
  !attributesOf(event, 'workflowTaskCompleted');

/** The events of the commands that came with the completion at this place. */
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
