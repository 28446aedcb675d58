import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Sandbox, startSandbox } from '../sandbox/sandbox.js';
import { bundleTracker } from './baseline/worker.js';
import type { bareOrder } from './baseline/workflows.js';
import { closedLoop } from './closed-loop.js';
import { cpuMsOf } from './cpu.js';
import { type HttpLanes, openLanes } from './http-lanes.js';
import { type IngressPlace, type IngressSite, openSite } from './ingress-place.js';
import { type Measure, type Summary, summarize } from './report.js';
import { type Side, sidesInRound } from './sides.js';
import type { TemporalSource } from './temporal-source.js';
import { requestMaker } from './webhook-load.js';
import { startWorkerProcess, type WorkerProcess } from './worker-process.js';

export interface OrdersOptions {
  temporal: TemporalSource;
  rounds: number;
  /** Orders in each round and on each side. */
  orders: number;
  say: (line: string) => void;
}

const inFlight = 64;
const warmUp = 300; // until the code of both sides is compiled
const limitMs = 180_000;
const hour = 3_600_000;
/** Only announced reads count. */
const cadence = { activeMs: hour, reservedMs: hour, pushedMs: hour };
const changes = ['Confirmed', 'Driving', 'Completed'];

/** What a whole announced order costs; CPU in milliseconds. */
export interface OrderFigures {
  perSecond: number;
  serverMs: number;
  workerMs: number;
  ingressMs: number;
  events: number;
}

/**
 * Measures whole announced orders: a start, three changes that deliveries announce, the result. Our side reads the order after the start and
 * after each delivery, which comes through the ingress. The bare workflow takes three signals and reads nothing.
 */
export async function benchOrders({ temporal, rounds, orders, say }: OrdersOptions): Promise<Summary[]> {
  const folder = mkdtempSync(join(tmpdir(), 'faretrail-bench-'));
  try {
    const trackerCodePath = join(folder, 'tracker-bundle.js');
    writeFileSync(trackerCodePath, await bundleTracker());
    const place = { folder, temporal };
    const results: Record<Side, OrderFigures>[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const result: Partial<Record<Side, OrderFigures>> = {};
      for (const side of sidesInRound(round)) {
        say(`orders: ${side}, round ${round + 1} of ${rounds}, about ${Math.round(20 + orders / 20)} s`);
        result[side] = await measureOrders(side, { place, trackerCodePath, orders });
      }
      results.push(result as Record<Side, OrderFigures>);
    }
    return toMeasures(results).map(summarize);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface SideOptions {
  place: IngressPlace;
  trackerCodePath: string;
  orders: number;
  /** Further settings of the worker. */
  env?: Record<string, string>;
}

/** Whole orders on one side. */
export async function measureOrders(side: Side, options: SideOptions): Promise<OrderFigures> {
  const { place, trackerCodePath, orders } = options;
  const sandbox = await startSandbox();
  const site = await openSite(place, { sandboxUrl: sandbox.url, cadence });
  const address = site.env.TEMPORAL_ADDRESS ?? '';
  const env = { ...site.env, ...options.env };
  const worker = await startWorkerProcess({ side, address, env, trackerCodePath });
  const ingress = side === 'faretrail' ? await site.startIngress() : null;
  const lanes = ingress && (await openLanes(ingress.port, inFlight));
  const scene = { site, sandbox, worker };
  const course = ingress && lanes ? announced(scene, lanes, requestMaker(ingress.port)) : bare(scene);
  const cpu = () => [site.serverPid(), worker.pid, ingress?.pid ?? null].map(cpuMsOf);
  try {
    await closedLoop({ count: warmUp, inFlight, limitMs }, course.follow);
    const before = cpu();
    const startedAt = performance.now();
    const ids = await closedLoop({ count: orders, inFlight, limitMs }, course.follow);
    const seconds = (performance.now() - startedAt) / 1_000;
    const [serverMs = 0, workerMs = 0, ingressMs = 0] = cpu().map((ms, at) => (ms - (before[at] ?? 0)) / ids.length);
    const events = await meanEvents(site, ids.slice(-100));
    return { perSecond: ids.length / seconds, serverMs, workerMs, ingressMs, events };
  } finally {
    course.end();
    lanes?.close();
    await ingress?.stop();
    await worker.stop();
    await site.close();
    await sandbox.close();
  }
}

/** A read that found no room at once takes more events. */
async function meanEvents({ client }: IngressSite, ids: readonly string[]): Promise<number> {
  const runs = await Promise.all(ids.map((id) => client.workflow.getHandle(id).describe()));
  return runs.reduce((sum, { historyLength }) => sum + historyLength, 0) / runs.length;
}

/** The way of an order from its start to its end. */
interface Course {
  /** Gives the workflow id once the run has ended. */
  follow(): Promise<string>;
  end(): void;
}

interface Scene {
  site: IngressSite;
  sandbox: Sandbox;
  worker: WorkerProcess;
}

function announced({ site, sandbox }: Scene, lanes: HttpLanes, make: ReturnType<typeof requestMaker>): Course {
  const reads = createSteps();
  // Looking through the whole ledger for each order would take the cores from the measured processes.
  const look = setInterval(() => {
    const entries = sandbox.ledger({ operation: 'orderDetails' });
    sandbox.resetLedger();
    for (const { orderId } of entries) reads.done(orderId ?? '');
  }, 3);
  return {
    async follow() {
      const orderId = randomUUID();
      sandbox.addOrder({ interface: 'business', orderId, script: [{ status: 'Pending', afterMs: 0 }] });
      const first = reads.next(orderId);
      await site.followOrder(orderId);
      await first;
      for (const status of changes) {
        const read = reads.next(orderId);
        sandbox.setStatus('business', orderId, status);
        await deliver(lanes, make(orderId, status));
        await read;
      }
      const workflowId = `order/business/${orderId}`;
      await site.client.workflow.result(workflowId);
      return workflowId;
    },
    end: () => clearInterval(look),
  };
}

/** The ingress closes a connection that stayed idle for long after it was opened. */
const tooSlow = 408;

async function deliver(lanes: HttpLanes, request: string): Promise<void> {
  const answer = await lanes.send(request);
  if (answer === tooSlow) return await deliver(lanes, request);
  if (answer !== 202) throw new Error(`a delivery was answered ${answer}`);
}

function bare({ site: { client, env }, worker }: Scene): Course {
  const handled = createSteps();
  worker.onHandled(handled.done);
  return {
    async follow() {
      const orderId = randomUUID();
      const workflowId = `bare/${orderId}`;
      const first = handled.next(orderId);
      const options = { workflowId, taskQueue: env.FARETRAIL_TASK_QUEUE ?? '', args: [orderId] as [string] };
      const run = await client.workflow.start<typeof bareOrder>('bareOrder', options);
      await first;
      for (const status of changes) {
        const one = handled.next(orderId);
        await run.signal('orderChanged', { status, terminal: status === 'Completed' });
        await one;
      }
      await run.result();
      return workflowId;
    },
    end: () => undefined,
  };
}

/** Waits for steps of orders that another process or the sandbox has seen. */
function createSteps() {
  const waiting = new Map<string, () => void>();
  return {
    next: (orderId: string): Promise<void> => new Promise((resolve) => waiting.set(orderId, resolve)),
    done(orderId: string): void {
      waiting.get(orderId)?.();
      waiting.delete(orderId);
    },
  };
}

function toMeasures(results: readonly Record<Side, OrderFigures>[]): Measure[] {
  const rounds = (key: keyof OrderFigures) =>
    results.map(({ faretrail, plain }) => ({ faretrail: faretrail[key], plain: plain[key] }));
  const name = (what: string) => `announced orders, three changes, ${inFlight} in flight: ${what}`;
  const reads = changes.length + 1;
  const serverGoal = {
    text: `at most 24 ms a read, of which there are ${reads}`,
    of: 'value' as const,
    limit: 24 * reads,
  };
  return [
    {
      ...{ name: name('whole orders'), unit: 'orders/s', better: 'higher', rounds: rounds('perSecond') },
      goal: { text: 'at least 0.42 of it', of: 'factor', limit: 0.42 },
    },
    { name: name('CPU of the server'), unit: 'ms', better: 'lower', rounds: rounds('serverMs'), goal: serverGoal },
    { name: name('CPU of the worker'), unit: 'ms', better: 'lower', rounds: rounds('workerMs') },
    { name: name('CPU of the ingress'), unit: 'ms', better: 'lower', rounds: rounds('ingressMs') },
    { name: name('events'), unit: '', better: 'lower', rounds: rounds('events') },
  ];
}
