// Replaces `node:timers/promises` and the global timers. Within a simulated process they use its virtual time.
import { promises as real } from 'node:timers'; // `node:timers/promises` would be this file
import { currentProcess, type Process } from './process.js';

interface TimerOptions {
  signal?: AbortSignal;
  ref?: boolean;
}

export const setTimeout = <T = void>(ms?: number, value?: T, options: TimerOptions = {}): Promise<T> => {
  const process = currentProcess();
  return process ? pause(process, ms ?? 1, value as T, options) : real.setTimeout(ms, value as T, options);
};

export const { setImmediate, setInterval } = real;

function pause<T>(process: Process, ms: number, value: T, { signal }: TimerOptions): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(abortedBy(signal));
      return;
    }
    const onAbort = (): void => reject(abortedBy(signal));
    signal?.addEventListener('abort', onAbort, { once: true });
    process.after(ms, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve(value);
    });
  });
}

const abortedBy = (signal: AbortSignal | undefined): Error =>
  Object.assign(new Error('The operation was aborted', { cause: signal?.reason }), {
    name: 'AbortError',
    code: 'ABORT_ERR',
  });

/** A virtual timer. */
class Timer {
  isOn = true;
  unref = (): this => this;
  ref = (): this => this;
}

const realTimers = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout };

const RealDate = Date;

/** Shows the wall clock of the process whose code is running. */
class ProcessDate extends RealDate {
  constructor(...given: []) {
    if (given.length === 0) super(ProcessDate.now());
    else super(...given);
  }

  static override now = (): number => currentProcess()?.wallMs ?? RealDate.now();
}

const realRandom = Math.random;

/** Makes the global timers, `Date` and `Math.random` of this thread aware of simulated processes. */
export function installTimers(): void {
  Math.random = () => currentProcess()?.scheduler.random() ?? realRandom();
  globalThis.Date = ProcessDate as DateConstructor;
  const later = (code: (...args: unknown[]) => void, ms = 1, ...args: unknown[]) => {
    const process = currentProcess();
    if (!process) return realTimers.setTimeout(code, ms, ...args);
    const timer = new Timer();
    process.after(ms, () => {
      if (timer.isOn) code(...args);
    });
    return timer;
  };
  globalThis.setTimeout = later as unknown as typeof globalThis.setTimeout;
  globalThis.clearTimeout = (timer) => {
    if (timer instanceof Timer) timer.isOn = false;
    else realTimers.clearTimeout(timer);
  };
}
