import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Side } from './sides.js';
import type { ThreadHeap } from './thread-heaps.js';

/** The messages of a worker process. */
export interface WorkerState {
  rssBytes: number;
  peakRssBytes: number;
  cachedRuns: number;
  /** The main thread first, then those in which workflows run. */
  heaps: readonly ThreadHeap[];
  watch: WatchState;
}

/** What the watches of a process have done since the last question. */
export interface WatchState {
  /** Orders on watch now. */
  orders: number;
  polls: Record<PollOutcome, number>;
  /** How late polls were, in milliseconds. */
  late: { p50: number; p99: number; max: number };
}
export type PollOutcome = 'unchanged' | 'changed' | 'failed';

/** What a worker process is asked; it answers with its state. */
export type Question = 'state' | 'state without garbage';

/** What a comparator that is told of changes says when it has handled one. */
export interface Handled {
  handled: string;
}

export interface WorkerProcess {
  pid: number;
  /** The comparator has handled a change of this order. */
  onHandled(listener: (orderId: string) => void): void;
  state(question?: Question): Promise<WorkerState>;
  /** Sends SIGTERM, and SIGKILL after 10 s. */
  stop(): Promise<void>;
  kill(): Promise<void>;
}

export interface WorkerProcessOptions {
  side: Side;
  address: string;
  /** The result of `workerEnv`. */
  env: Record<string, string>;
  trackerCodePath: string;
  nodeFlags?: readonly string[] | undefined;
  extraEnv?: Record<string, string> | undefined;
}

const program = fileURLToPath(new URL('./worker-main.js', import.meta.url));
const stopLimitMs = 10_000;

/** Starts a worker of one side and waits until it polls. */
export async function startWorkerProcess(options: WorkerProcessOptions): Promise<WorkerProcess> {
  const { side, address, env, trackerCodePath, nodeFlags = [], extraEnv } = options;
  const child = fork(program, [], {
    execArgv: [...nodeFlags],
    env: {
      ...withoutOurs(process.env),
      ...env,
      ...extraEnv,
      TZ: 'UTC',
      TEMPORAL_ADDRESS: address,
      BENCH_SIDE: side,
      BENCH_TRACKER_CODE: trackerCodePath,
    },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const ended = new Promise<void>((resolve) => child.on('exit', () => resolve()));
  child.on('error', () => undefined); // a question to a process that has ended; its answer fails, too
  await messageOf(child);
  return {
    pid: child.pid ?? 0,
    onHandled(listener) {
      child.on('message', (message: Partial<Handled>) => {
        if (message.handled !== undefined) listener(message.handled);
      });
    },
    async state(question = 'state') {
      const answer = messageOf(child);
      child.send(question);
      return (await answer) as WorkerState;
    },
    async stop() {
      child.kill('SIGTERM');
      const limit = setTimeout(() => child.kill('SIGKILL'), stopLimitMs);
      await ended;
      clearTimeout(limit);
    },
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** The next message. Throws an Error if the process ends instead. */
async function messageOf(child: ChildProcess): Promise<unknown> {
  const listening = new AbortController();
  const { signal } = listening;
  try {
    const failed = once(child, 'exit', { signal }).then(() => {
      throw new Error('a worker process ended early; its log is above');
    });
    const [message] = await Promise.race([once(child, 'message', { signal }), failed]);
    return message;
  } finally {
    listening.abort();
  }
}

/** Settings of the shell must not leak into a bench. */
const withoutOurs = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !/^(FARETRAIL|TEMPORAL|BENCH)_/.test(name)));
