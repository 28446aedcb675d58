import protobuf from 'protobufjs';
import type { Attributes, Event, EventKind } from '../sdk/history.js';
import { toTime } from '../sdk/times.js';

/** A number in the form of the protocol. */
export const longOf = (value: number): NonNullable<Event['eventId']> => longs.fromNumber(value);

const longs = protobuf.util.Long as unknown as { fromNumber(value: number): NonNullable<Event['eventId']> };

/** A time or a duration in the form of the protocol. */
export function timeOf(ms: number) {
  const { seconds, nanos } = toTime(ms);
  return { seconds: longOf(seconds), nanos };
}

/** The events of a run. Events from outside are buffered while a workflow task is running, as on the server. */
export class History {
  readonly events: Event[] = [];
  #buffered: Event[] = [];
  readonly #startedOf = new Map<number, number>();

  get nextId(): number {
    return this.events.length + 1;
  }

  get hasBuffered(): boolean {
    return this.#buffered.length > 0;
  }

  write<Kind extends EventKind>(kind: Kind, attributes: Attributes<Kind>, ms: number): number {
    this.#number(eventOf(kind, attributes, ms));
    return this.events.length;
  }

  buffer<Kind extends EventKind>(kind: Kind, attributes: Attributes<Kind>, ms: number): void {
    this.#buffered.push(eventOf(kind, attributes, ms));
  }

  /** Appends the buffered events. As on the server, events that close an activity or a child come last. */
  flush(): void {
    const waiting = this.#buffered.splice(0);
    for (const event of waiting) if (!isEnd(event)) this.#number(event);
    for (const event of waiting) if (isEnd(event)) this.#number(event);
  }

  /** Drops buffered events, such as the firing of a timer that was cancelled after it fired. */
  forget(which: (event: Event) => boolean): void {
    this.#buffered = this.#buffered.filter((event) => !which(event));
  }

  /** Is anything buffered, and do all buffered events match? */
  holdsOnly(which: (event: Event) => boolean): boolean {
    return this.#buffered.length > 0 && this.#buffered.every(which);
  }

  takeBuffered(): Event[] {
    return this.#buffered.splice(0);
  }

  /** Replaces the events with those of another run. */
  take(events: readonly Event[]): void {
    this.events.splice(0, this.events.length, ...events);
    for (const event of events) this.#noteStart(event);
  }

  #number(event: Event): void {
    const id = this.nextId;
    event.eventId = longOf(id);
    this.#noteStart(event);
    const end = endOf(event);
    if (end) end.startedEventId = longOf(this.#startedOf.get(subjectOf(end)) ?? 0);
    this.events.push(event);
  }

  #noteStart(event: Event): void {
    const started = event.activityTaskStartedEventAttributes ?? event.childWorkflowExecutionStartedEventAttributes;
    if (started) this.#startedOf.set(subjectOf(started), Number(event.eventId));
  }
}

const eventOf = (kind: EventKind, attributes: object, ms: number): Event => ({
  eventTime: timeOf(ms),
  [`${kind}EventAttributes`]: attributes,
});

interface Ended {
  scheduledEventId?: unknown;
  initiatedEventId?: unknown;
  startedEventId?: unknown;
}

/** The id of the event that scheduled the activity or initiated the child. */
const subjectOf = (about: Ended): number => Number(about.scheduledEventId ?? about.initiatedEventId);

const endOf = (event: Event): Ended | null | undefined =>
  event.activityTaskCompletedEventAttributes ??
  event.activityTaskFailedEventAttributes ??
  event.activityTaskTimedOutEventAttributes ??
  event.activityTaskCanceledEventAttributes ??
  event.childWorkflowExecutionCompletedEventAttributes ??
  event.childWorkflowExecutionFailedEventAttributes ??
  event.childWorkflowExecutionTimedOutEventAttributes ??
  event.childWorkflowExecutionCanceledEventAttributes ??
  event.childWorkflowExecutionTerminatedEventAttributes;

const isEnd = (event: Event): boolean => endOf(event) !== undefined && endOf(event) !== null;
