import { Client } from '@temporalio/client';
import type { WorkerConfig } from '../../../src/config.js';
import { payloadConverter } from '../../../src/sealing/payload-converter.js';
import type { SandboxOptions, SandboxState } from '../../sandbox/sandbox-state.js';
import { createConnection } from '../client/connection.js';
import { Process } from '../clock/process.js';
import { Scheduler } from '../clock/scheduler.js';
import type { Code } from '../sdk/run.js';
import type { Execution } from '../server/execution.js';
import { grpcError } from '../server/grpc.js';
import { Namespace } from '../server/namespace.js';
import type { SimulatedWorker } from '../worker/worker.js';
import { startWorker } from './fleet.js';
import { createService } from './service.js';

export interface WorldOptions {
  config: WorkerConfig;
  code: Code;
  sandbox?: SandboxOptions;
  keepsTrace?: boolean;
}

/** Temporal, the service and one worker on a virtual clock. */
export interface World {
  scheduler: Scheduler;
  namespace: Namespace;
  service: SandboxState;
  /** Runs code in the process of the service, with its clock and timers. */
  asService: <T>(code: () => T) => T;
  /** Runs code in the process of a caller, with a client. */
  asCaller: <T>(code: (client: Client) => T) => T;
  problems: readonly string[];
  /** Kills the worker process. Another one starts after `restMs`. */
  killWorker: (restMs: number) => void;
}

export function createWorld(seed: number, { config, code, sandbox = {}, keepsTrace = false }: WorldOptions): World {
  const scheduler = new Scheduler(seed, { keepsTrace });
  const namespace = new Namespace(scheduler, () => scheduler.between(1, 10));
  const problems: string[] = [];
  const serviceProcess = new Process('service', scheduler);
  const wire = { latencyMs: () => scheduler.between(5, 100), fate: () => 'arrives' as const };
  const service = createService(serviceProcess, wire, sandbox);
  let worker: SimulatedWorker | null = null;
  let started = 0;
  const ask = async (execution: Execution, name: string) => {
    if (!worker) throw grpcError('DEADLINE_EXCEEDED', 'no worker answers queries');
    return payloadConverter.toPayload(await worker.query(execution, name, []));
  };
  const network = { latencyMs: () => scheduler.between(1, 5), fate: () => 'arrives' as const };
  const connect = (process: Process) => createConnection(namespace, { process, network, queries: ask });
  const parts = {
    namespace,
    service,
    config,
    code,
    connect,
    maxCachedRuns: 100,
    latencyMs: () => scheduler.between(1, 20),
    onProblem: (problem: string) => void problems.push(problem),
  };
  const begin = (): void => {
    started += 1;
    worker = startWorker(`worker-${started}`, parts);
  };
  begin();
  const caller = new Process('caller', scheduler);
  const client = new Client({ connection: connect(caller), identity: 'caller' });
  return {
    scheduler,
    namespace,
    service: service.state,
    problems,
    asService: (run) => serviceProcess.enter(run),
    asCaller: (run) => caller.enter(() => run(client)),
    killWorker(restMs) {
      worker?.kill();
      worker = null;
      scheduler.after(restMs, begin);
    },
  };
}
