import protobuf from 'protobufjs';
import type { Attributes, Event, EventKind } from '../sdk/history.js';

/** A number as the protocol has it. */
export const longOf = (value: number): NonNullable<Event['eventId']> => longs.fromNumber(value);

const longs = protobuf.util.Long as unknown as { fromNumber(value: number): NonNullable<Event['eventId']> };

export const timestampOf = (ms: number) => ({
  seconds: longOf(Math.floor(ms / 1_000)),
  nanos: (ms % 1_000) * 1_000_000,
});

/** The events of a run. While a workflow task is under way, what happens elsewhere waits for its end, as the server has it. */
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

  /** The ends of activities and children come last: the server puts them behind what they may depend on. */
  flush(): void {
    const waiting = this.#buffered.splice(0);
    for (const event of waiting) if (!isEnd(event)) this.#number(event);
    for (const event of waiting) if (isEnd(event)) this.#number(event);
  }

  /** Takes a buffered event back: the timer that it tells of was cancelled meanwhile. */
  forget(which: (event: Event) => boolean): void {
    this.#buffered = this.#buffered.filter((event) => !which(event));
  }

  /** Is nothing but this buffered? */
  holdsOnly(which: (event: Event) => boolean): boolean {
    return this.#buffered.length > 0 && this.#buffered.every(which);
  }

  takeBuffered(): Event[] {
    return this.#buffered.splice(0);
  }

  /** Begins with these events of another run. */
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
  eventTime: timestampOf(ms),
  [`${kind}EventAttributes`]: attributes,
});

interface Ended {
  scheduledEventId?: unknown;
  initiatedEventId?: unknown;
  startedEventId?: unknown;
}

/** Of an activity its scheduling, of a child the command that started it. */
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
