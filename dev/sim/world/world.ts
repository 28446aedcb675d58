import { Client } from '@temporalio/client';
import type { WorkerConfig } from '../../../src/config.js';
import { payloadConverter } from '../../../src/sealing/payload-converter.js';
import type { DeliverySender } from '../../sandbox/delivery/sender.js';
import type { SandboxOptions } from '../../sandbox/sandbox-state.js';
import { createConnection } from '../client/connection.js';
import { Process } from '../clock/process.js';
import { Scheduler } from '../clock/scheduler.js';
import type { Code } from '../sdk/run.js';
import type { Execution } from '../server/execution.js';
import { grpcError } from '../server/grpc.js';
import { Namespace } from '../server/namespace.js';
import { createDeliveryWire, type DeliveryWire } from './delivery-wire.js';
import type { FleetParts } from './fleet.js';
import { Ingress } from './ingress.js';
import { Interference } from './interference.js';
import { Receivers } from './receivers.js';
import { createService, type Service } from './service.js';
import { Workers } from './workers.js';

export interface WorldOptions {
  config: WorkerConfig;
  code: Code;
  sandbox?: SandboxOptions;
  /** Number of worker processes; default: one. */
  workers?: number;
  /** Default: the real watch. */
  watch?: FleetParts['watch'];
  keepsTrace?: boolean;
}

/** Temporal, the service, workers and one ingress on a virtual clock. */
export interface World {
  scheduler: Scheduler;
  namespace: Namespace;
  service: Service;
  workers: Workers;
  ingress: Ingress;
  deliveries: DeliveryWire;
  receivers: Receivers;
  interference: Interference;
  /** Runs code in the process of the service, with its clock and timers. */
  asService: <T>(code: () => T) => T;
  /** Runs code in the process of a caller, with a client. */
  asCaller: <T>(code: (client: Client) => T) => T;
  problems: readonly string[];
}

/** One workflow task in twenty takes so long that other events overtake it. */
const slowShare = 0.05;

export function createWorld(seed: number, options: WorldOptions): World {
  const { config, code, sandbox = {}, workers: count = 1, watch = 'real', keepsTrace = false } = options;
  const scheduler = new Scheduler(seed, { keepsTrace });
  const namespace = new Namespace(scheduler, () => scheduler.between(1, 10));
  const interference = new Interference(scheduler);
  const receivers = new Receivers(scheduler);
  const problems: string[] = [];
  const onProblem = (problem: string): void => void problems.push(problem);
  const serviceProcess = new Process('service', scheduler);
  const latencyMs = () => scheduler.between(5, 100);
  const deliveries = createDeliveryWire({ scheduler, ingress: () => ingress, latencyMs });
  const sender: DeliverySender = {
    post: (message, timeoutMs) => deliveries.send(serviceProcess, message, { from: 'service', timeoutMs }),
    close: async () => undefined,
  };
  const service = createService(serviceProcess, { latencyMs, interference }, { sandbox, sender });
  const ask = async (execution: Execution, name: string) => {
    const { reachable } = workers;
    if (!reachable) throw grpcError('DEADLINE_EXCEEDED', 'no worker answers queries');
    return payloadConverter.toPayload(await reachable.worker.query(execution, name, []));
  };
  const connect = (process: Process) => {
    const fate = () => (process.isConnected ? interference.fateOf('temporal') : 'requestLost');
    const network = { latencyMs: () => scheduler.between(1, 5), fate };
    return createConnection(namespace, { process, network, queries: ask });
  };
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
    onProblem,
  };
  const workers = new Workers(parts, count);
  const ingress = new Ingress({ scheduler, config, connect, onProblem });
  const caller = new Process('caller', scheduler);
  const client = new Client({ connection: connect(caller), identity: 'caller' });
  return {
    scheduler,
    namespace,
    service,
    workers,
    ingress,
    deliveries,
    receivers,
    interference,
    problems,
    asService: (run) => serviceProcess.enter(run),
    asCaller: (run) => caller.enter(() => run(client)),
  };
}
