import { Client } from '@temporalio/client';
import type { WorkerConfig } from '../../../src/config.js';
import { payloadConverter } from '../../../src/sealing/payload-converter.js';
import type { SandboxOptions } from '../../sandbox/sandbox-state.js';
import { createConnection } from '../client/connection.js';
import { Process } from '../clock/process.js';
import { Scheduler } from '../clock/scheduler.js';
import type { Code } from '../sdk/run.js';
import type { Execution } from '../server/execution.js';
import { grpcError } from '../server/grpc.js';
import { Namespace } from '../server/namespace.js';
import { type FleetParts, type RunningWorker, startWorker } from './fleet.js';
import { Ingress } from './ingress.js';
import { Interference } from './interference.js';
import { Receivers } from './receivers.js';
import { createService, type Service } from './service.js';

export interface WorldOptions {
  config: WorkerConfig;
  code: Code;
  sandbox?: SandboxOptions;
  /** Default: the real watch. */
  watch?: FleetParts['watch'];
  keepsTrace?: boolean;
}

/** Temporal, the service, workers and one ingress on a virtual clock. */
export interface World {
  scheduler: Scheduler;
  namespace: Namespace;
  service: Service;
  ingress: Ingress;
  receivers: Receivers;
  interference: Interference;
  /** Runs code in the process of the service, with its clock and timers. */
  asService: <T>(code: () => T) => T;
  /** Runs code in the process of a caller, with a client. */
  asCaller: <T>(code: (client: Client) => T) => T;
  problems: readonly string[];
  // Each of these concerns the oldest worker process, and returns false if there is none.
  /** Kills it. Another one starts after `restMs`. */
  killWorker: (restMs: number) => boolean;
  pauseWorker: (forMs: number) => boolean;
  /** Starts another one, and tells the oldest to leave after `overlapMs`. */
  replaceWorker: (overlapMs: number) => boolean;
  /** Moves its wall clock. */
  moveClock: (byMs: number) => boolean;
}

/** One workflow task in twenty takes so long that other events overtake it. */
const slowShare = 0.05;

export function createWorld(seed: number, options: WorldOptions): World {
  const { config, code, sandbox = {}, watch = 'real', keepsTrace = false } = options;
  const scheduler = new Scheduler(seed, { keepsTrace });
  const namespace = new Namespace(scheduler, () => scheduler.between(1, 10));
  const interference = new Interference(scheduler);
  const receivers = new Receivers(scheduler);
  const problems: string[] = [];
  const serviceProcess = new Process('service', scheduler);
  const service = createService(serviceProcess, { latencyMs: () => scheduler.between(5, 100), interference }, sandbox);
  /** Oldest first. */
  const running: RunningWorker[] = [];
  let started = 0;
  const ask = async (execution: Execution, name: string) => {
    const newest = running.at(-1);
    if (!newest) throw grpcError('DEADLINE_EXCEEDED', 'no worker answers queries');
    return payloadConverter.toPayload(await newest.worker.query(execution, name, []));
  };
  const network = { latencyMs: () => scheduler.between(1, 5), fate: () => interference.fateOf('temporal') };
  const connect = (process: Process) => createConnection(namespace, { process, network, queries: ask });
  const parts: FleetParts = {
    namespace,
    service,
    config,
    code,
    connect,
    watch,
    receive: (notice) => receivers.receive(notice),
    maxCachedRuns: 100,
    latencyMs: (what) =>
      what === 'workflowTask' && scheduler.chance(slowShare) ? scheduler.between(100, 3_000) : scheduler.between(1, 20),
    onProblem: (problem) => void problems.push(problem),
  };
  const begin = (): void => {
    started += 1;
    const one = startWorker(`worker-${started}`, parts);
    running.push(one);
    scheduler.note(`start ${one.process.name}`);
  };
  begin();
  const ingress = new Ingress({ scheduler, taskQueue: config.taskQueue, connect });
  const caller = new Process('caller', scheduler);
  const client = new Client({ connection: connect(caller), identity: 'caller' });
  return {
    scheduler,
    namespace,
    service,
    ingress,
    receivers,
    interference,
    problems,
    asService: (run) => serviceProcess.enter(run),
    asCaller: (run) => caller.enter(() => run(client)),
    killWorker(restMs) {
      const killed = running.shift();
      killed?.worker.kill();
      if (killed) scheduler.after(restMs, begin);
      return killed !== undefined;
    },
    pauseWorker(forMs) {
      const [paused] = running;
      paused?.process.pause();
      scheduler.after(forMs, () => paused?.process.resume());
      return paused !== undefined;
    },
    replaceWorker(overlapMs) {
      if (running.length === 0) return false;
      begin();
      scheduler.after(overlapMs, () => {
        if (running.length > 1) running.shift()?.leave();
      });
      return true;
    },
    moveClock(byMs) {
      const [moved] = running;
      if (moved) moved.process.clockAheadMs += byMs;
      return moved !== undefined;
    },
  };
}
