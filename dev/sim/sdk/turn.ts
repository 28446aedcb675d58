// Lets one run at a time use the thread.
import { payloadConverter } from '../../../src/sealing/payload-converter.js';
import type { Activation, Command, Job } from './activation.js';
import { composed, type Run } from './run.js';
import { msOf } from './times.js';

let current: Run | undefined;

export const activeRun = (): Run => {
  if (!current) throw new Error('not within a run');
  return current;
};

/** Installs the time, random numbers and globals of a run. Returns a function that removes them. */
function enterRun(run: Run, ms: number): () => void {
  const others = new Set(Object.keys(globalThis));
  const OuterDate = Date;
  const outerRandom = Math.random;
  current = run;
  run.taskMs = ms;
  globalThis.Date = class extends OuterDate {
    constructor(...given: []) {
      if (given.length === 0) super(ms);
      else super(...given);
    }
    static override now = () => ms;
    // Those of earlier tasks are instances of other classes.
    static override [Symbol.hasInstance] = (value: unknown) => value instanceof OuterDate;
  } as unknown as DateConstructor;
  Math.random = () => run.random();
  Object.assign(globalThis, run.globals);
  return () => {
    current = undefined;
    globalThis.Date = OuterDate;
    Math.random = outerRandom;
    for (const name of Object.keys(globalThis)) {
      if (others.has(name)) continue;
      run.globals[name] = (globalThis as Record<string, unknown>)[name];
      Reflect.deleteProperty(globalThis, name);
    }
  };
}

/** Captured, because tests and the simulation replace timers. */
const macrotask = setImmediate;
export const drained = (): Promise<void> => new Promise((resolve) => macrotask(resolve));

/** Carries out an activation until the run is blocked. Throws if the task fails. */
export async function activate(run: Run, activation: Activation): Promise<Command[]> {
  const { historyLength, isReplaying, continueAsNewSuggested } = activation;
  run.info = { ...run.info, historyLength, continueAsNewSuggested, unsafe: { ...run.info.unsafe, isReplaying } };
  const leave = enterRun(run, msOf(activation.timestamp));
  try {
    run.rootScope.enter(() => {
      composed(run.interceptors.internals, 'activate', () => doJobs(run, activation.jobs))({
        activation,
        batchIndex: 0,
      });
    });
    do await drained();
    while (run.rootScope.enter(() => run.unblock()) > 0);
    run.rejectBufferedUpdates();
    const conclude = composed(
      run.interceptors.internals,
      'concludeActivation',
      (given: { commands: Command[] }) => given,
    );
    return conclude({ commands: run.commands.splice(0) }).commands;
  } finally {
    leave();
  }
}

function doJobs(run: Run, jobs: Job[]): void {
  for (const job of jobs) {
    if (job.initializeWorkflow) continue;
    run.handle(job);
    run.unblock();
  }
  const [first] = jobs;
  if (!first?.initializeWorkflow) return;
  run.start(first.initializeWorkflow);
  run.unblock();
}

/** Answers a query. Throws what the query handler throws. */
export function ask(run: Run, name: string, args: unknown[] = []): unknown {
  const leave = enterRun(run, run.taskMs);
  try {
    const handler = run.queryHandlers.get(name);
    if (!handler) throw new ReferenceError(`no handler for the query ${name}`);
    const answer = run.rootScope.enter(() => handler(...args));
    return payloadConverter.fromPayload(payloadConverter.toPayload(answer));
  } finally {
    leave();
  }
}
