import type { WorkflowClient, WorkflowHandle } from '@temporalio/client';
import { createRandom } from '../../../dev/sim/clock/scheduler.js';
import type { Event } from '../../../dev/sim/sdk/history.js';
import type { End, Gates } from './gates.js';

/** Where a course runs: on a real server with a real worker, or in the simulation. */
export interface Place {
  workflow: WorkflowClient;
  taskQueue: string;
  gates: Gates;
  /** Waits until the run can do nothing more without another step. */
  quiet(handle: WorkflowHandle): Promise<void>;
  /** Waits until the server knows the end of each activity that has left its gate. */
  settle(handle: WorkflowHandle): Promise<void>;
  /** Awaits a promise. In the simulation this lets time pass. */
  over<T>(promise: Promise<T>): Promise<T>;
  /** Resets the run to the workflow task that ended with this event. */
  reset(handle: WorkflowHandle, finishedEventId: number): Promise<void>;
  /** Runs `act` during a workflow task, which then fails. `wake` sends the run something that needs a task. */
  duringTask(wake: () => Promise<void>, act: () => Promise<void>): Promise<void>;
  /** Runs `act` while no worker takes workflow tasks. Then a new worker starts. */
  withoutWorker(act: () => Promise<void>): Promise<void>;
  /** Milliseconds since the start. */
  elapsedMs(): number;
  /**
   * Advances the clock to this time since the start. Only the simulation has it, because it repeats the real course.
   */
  reach?(elapsedMs: number): Promise<void>;
}

interface Step {
  name: string;
  isPossible(names: readonly string[]): boolean;
  take(place: Place, handle: WorkflowHandle, draw: () => number): Promise<void> | void;
}

const words = ['Routing', 'Confirmed', 'Driving', 'Waiting'];
const pick = <T>(of: readonly T[], draw: () => number): T => of[Math.floor(draw() * of.length)] as T;

const reading = (draw: () => number): End => {
  const status = draw() < 0.15 ? 'Completed' : pick(words, draw);
  const read = { rawStatus: status, status, terminal: status === 'Completed', details: null, concern: null };
  return { result: { kind: 'reading', reading: read, at: '2026-05-01T08:00:00.000Z', reads: 1 } };
};

const finding = (draw: () => number): End => {
  const comparedWith = pick(words, draw);
  if (draw() < 0.1) return { result: 'no finding' };
  const attention = { code: 'forbidden', message: 'forbidden', since: '2026-05-01T08:00:00.000Z' };
  if (draw() < 0.2)
    return { result: { kind: 'trouble', attention, notBefore: attention.since, reads: 0, comparedWith } };
  const read = reading(draw) as { result: object };
  return { result: { ...read.result, reads: 0, comparedWith, unchangedAt: null } };
};

const updateId = (draw: () => number): string => `u${Math.floor(draw() * 1e6)}`;

const quiet = (asked: Promise<unknown>): void => void asked.catch(() => undefined);

const steps: readonly Step[] = [
  ...Array.from(
    { length: 5 },
    (): Step => ({
      name: 'a read ends',
      isPossible: (names) => names.includes('readOrder'),
      take: ({ gates }, _, draw) => gates.end('readOrder', reading(draw)),
    }),
  ),
  {
    name: 'a read fails for good',
    isPossible: (names) => names.includes('readOrder'),
    take: ({ gates }) => gates.end('readOrder', { failure: 'Refused', nonRetryable: true }),
  },
  ...Array.from(
    { length: 3 },
    (): Step => ({
      name: 'the watch has found something',
      isPossible: (names) => names.includes('nextReading'),
      take: ({ gates }, _, draw) => gates.end('nextReading', finding(draw)),
    }),
  ),
  {
    name: 'a delivery',
    isPossible: () => true,
    take: ({ over }, handle, draw) => {
      const deliveries = [delivery(draw), ...(draw() < 0.3 ? [delivery(draw)] : [])];
      return over(handle.signal('deliveryReceived', { deliveries }));
    },
  },
  {
    name: 'a watch of release 0.2.0 has seen a change',
    isPossible: () => true,
    take: ({ over }, handle) => over(handle.signal('changeSeen', { streak: null, unchangedAt: null })),
  },
  {
    name: 'a refresh',
    isPossible: () => true,
    take: (_, handle, draw) => quiet(handle.executeUpdate('refreshOrder', { updateId: updateId(draw) })),
  },
  {
    name: 'an update that is refused',
    isPossible: () => true,
    take: (_, handle, draw) =>
      quiet(handle.executeUpdate('stopFollowing', { args: [{ reason: '' }], updateId: updateId(draw) })),
  },
  {
    name: 'an attempt of a read fails, and is repeated later',
    isPossible: (names) => names.includes('readOrder'),
    take: ({ gates }) => gates.end('readOrder', { failure: 'Trouble', delayMs: 3_600_000 }),
  },
  {
    name: 'a notice arrives',
    isPossible: (names) => names.includes('notifyUrl'),
    take: ({ gates }) => gates.end('notifyUrl', { result: null }),
  },
  {
    name: 'a caller wishes to be told',
    isPossible: () => true,
    take: ({ over }, handle) =>
      over(handle.signal('followRequested', { notify: [{ url: 'https://receiver.example/hook' }] })),
  },
  {
    name: 'messages while no worker is there',
    isPossible: () => true,
    take: (place, handle, draw) =>
      place.withoutWorker(async () => {
        for (let left = 1 + Math.floor(draw() * 3); left > 0; left -= 1)
          await place.over(handle.signal('deliveryReceived', { deliveries: [delivery(draw)] }));
        if (draw() < 0.5) quiet(handle.executeUpdate('refreshOrder', { updateId: updateId(draw) }));
        if (draw() < 0.1) await place.over(handle.cancel());
      }),
  },
  {
    name: 'messages and the end of a read during a task, which fails',
    isPossible: (names) => names.includes('readOrder'),
    take: (place, handle, draw) => {
      const tell = () => place.over(handle.signal('deliveryReceived', { deliveries: [delivery(draw)] }));
      return place.duringTask(tell, async () => {
        if (draw() < 0.7) place.gates.end('readOrder', reading(draw));
        await place.settle(handle);
        await tell();
        if (draw() < 0.5) await tell();
        if (draw() < 0.2) await place.over(handle.cancel());
      });
    },
  },
  {
    name: 'a reset',
    isPossible: () => true,
    async take(place, handle, draw) {
      const { events } = await place.over(handle.fetchHistory());
      const ends = (events ?? []).filter((event) => event.workflowTaskCompletedEventAttributes);
      await place.reset(handle, Number(pick(ends, draw).eventId));
    },
  },
  {
    name: 'a stop',
    isPossible: () => true,
    take: (_, handle, draw) =>
      quiet(handle.executeUpdate('stopFollowing', { args: [{ reason: 'enough' }], updateId: updateId(draw) })),
  },
  { name: 'a cancel', isPossible: () => true, take: ({ over }, handle) => over(handle.cancel().then(() => undefined)) },
];

const delivery = (draw: () => number) => {
  return {
    deliveryId: `d${Math.floor(draw() * 6)}`,
    eventType: 'status_changed',
    receivedAt: '2026-05-01T08:00:00.000Z',
    status: pick(words, draw),
  };
};

/** The steps of a course with the history length after each, and the events of the last run and its predecessors. */
export interface Course {
  steps: string[];
  events: string[];
  /** When each step was taken, in milliseconds since the start. */
  instants: number[];
}

/** `instants`: when to take each step, so that time limits and pauses of the workflow are the same. */
export async function runCourse(
  place: Place,
  seed: number,
  workflowId: string,
  instants: readonly number[] = [],
): Promise<Course> {
  const draw = createRandom(seed);
  const takenAt: number[] = [];
  const input = {
    account: 'acme',
    orderId: workflowId.split('/').at(-1) ?? '',
    ...(draw() < 0.3 ? { notify: [{ url: 'https://receiver.example/hook' }] } : {}),
  };
  const limits = draw() < 0.3 ? { limits: { maxEvents: 60, maxSignals: 6 } } : undefined;
  await place.over(
    place.workflow.start('followOrder', {
      workflowId,
      taskQueue: place.taskQueue,
      args: limits ? [input, limits] : [input],
    }),
  );
  const newest = place.workflow.getHandle(workflowId);
  const taken: string[] = [];
  await place.quiet(newest);
  for (let left = 4 + Math.floor(draw() * 14); left > 0; left -= 1) {
    const { status, historyLength } = await place.over(newest.describe());
    taken.push(`${historyLength} events`);
    const at = instants[takenAt.length];
    if (at !== undefined) await place.reach?.(at);
    takenAt.push(place.elapsedMs());
    if (status.name !== 'RUNNING') break;
    const step = pick(
      steps.filter((one) => one.isPossible(place.gates.names)),
      draw,
    );
    taken.push(step.name);
    try {
      await step.take(place, newest, draw);
    } catch (error) {
      taken.push(`refused: ${(error as Error).name}`);
    }
    await place.quiet(newest);
  }
  return { steps: taken, events: await eventsOf(place, workflowId), instants: takenAt };
}

async function eventsOf({ workflow, over }: Place, workflowId: string): Promise<string[]> {
  const runs: string[][] = [];
  let runId: string | undefined;
  do {
    const { events = [] } = await over(workflow.getHandle(workflowId, runId).fetchHistory());
    runs.unshift((events ?? []).map(toLine));
    runId = events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId || undefined;
  } while (runId);
  return runs.flat();
}

/** Fields of events that do not depend on time. */
const said = new Set([
  ...['activityType', 'name', 'signalName', 'timerId', 'cause', 'retryState', 'scheduledEventId', 'startedEventId'],
  ...['initiatedEventId', 'attempt', 'input', 'result', 'payloads', 'upsertedMemo', 'fields', 'searchAttributes'],
  ...[
    'indexedFields',
    'outcome',
    'success',
    'failure',
    'message',
    'data',
    'args',
    'acceptedRequest',
    'updateId',
    'meta',
  ],
]);
const maps = new Set(['fields', 'indexedFields']);
const instant = /\d{4}-\d\d-\d\dT[\d:.]+Z/g;

function toLine(event: Event): string {
  const [name = '', attributes] = Object.entries(event).find(([key]) => key.endsWith('EventAttributes')) ?? [];
  const about = JSON.stringify(plain(attributes)).replace(instant, 'T');
  return `${event.eventId} ${name.replace('EventAttributes', '')} ${about}`;
}

/** Makes objects of the real protocol and of the simulation comparable. */
function plain(value: unknown, isMap = false): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString();
  if (Array.isArray(value)) return value.map((one) => plain(one));
  if (typeof value !== 'object' || value === null) return value;
  if ('low' in value) return Number(value);
  const entries = Object.entries(value)
    .filter(([key]) => isMap || said.has(key))
    .map(([key, inner]): [string, unknown] => [key, plain(inner, maps.has(key))])
    .filter(([, inner]) => isSomething(inner));
  return Object.fromEntries(entries.sort(([one], [other]) => (one < other ? -1 : 1)));
}

const isSomething = (value: unknown): boolean =>
  typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : Boolean(value);
