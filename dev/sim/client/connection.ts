import { AsyncLocalStorage } from 'node:async_hooks';
import type { ConnectionLike } from '@temporalio/client';
import type { Process } from '../clock/process.js';
import { grpcError } from '../server/grpc.js';
import type { Namespace } from '../server/namespace.js';
import type { Fate } from '../world/interference.js';
import { createWorkflowService, type Queries } from './workflow-service.js';

/** The connection of a process to Temporal. */
export interface Network {
  latencyMs: () => number;
  /** A request can be lost before or after the server carries it out. */
  fate: (request: string) => Fate;
}

const deadlines = new AsyncLocalStorage<number>();

/** Time after which a client gives up on a lost request or answer. */
const lostAfterMs = 10_000;

/** A connection from a process to the simulated server, for Temporal's own client. */
export function createConnection(
  namespace: Namespace,
  { process, network, queries }: { process: Process; network: Network; queries: Queries },
): ConnectionLike {
  const methods = createWorkflowService(namespace, queries);
  const send = (name: string, request: unknown): Promise<unknown> => {
    const method = methods[name as keyof typeof methods] as ((given: never) => unknown) | undefined;
    if (!method) throw new TypeError(`the simulation does not answer ${name}`);
    return within(
      process,
      deadlines.getStore(),
      exchange(process, network, name, () => method(request as never)),
    );
  };
  const workflowService = new Proxy({}, { get: (_, name: string) => (request: unknown) => send(name, request) });
  const none = new Proxy({}, { get: (_, name: string) => () => Promise.reject(new TypeError(`no ${name}`)) });
  return {
    workflowService: workflowService as ConnectionLike['workflowService'],
    operatorService: none as ConnectionLike['operatorService'],
    plugins: [],
    close: async () => undefined,
    ensureConnected: async () => undefined,
    withDeadline: (deadline, fn) => deadlines.run(Number(deadline), fn),
    withMetadata: (_, fn) => fn(),
    withAbortSignal: (_, fn) => fn(),
  };
}

/** One request and its answer. If the process dies in between, the promise never settles. */
async function exchange(process: Process, network: Network, name: string, act: () => unknown): Promise<unknown> {
  const pause = (ms: number) => new Promise<void>((resolve) => process.after(ms, resolve));
  await pause(network.latencyMs());
  const fate = network.fate(name);
  if (fate === 'requestLost') {
    await pause(lostAfterMs);
    throw grpcError('UNAVAILABLE', 'the request was lost');
  }
  const answer = await act();
  if (fate === 'answerLost') {
    await pause(lostAfterMs);
    throw grpcError('UNAVAILABLE', 'the answer was lost');
  }
  await pause(network.latencyMs());
  return answer;
}

function within(process: Process, deadline: number | undefined, answer: Promise<unknown>): Promise<unknown> {
  if (deadline === undefined) return answer;
  return new Promise((resolve, reject) => {
    answer.then(resolve, reject);
    process.after(Math.max(1, deadline - process.wallMs), () =>
      reject(grpcError('DEADLINE_EXCEEDED', 'Deadline exceeded')),
    );
  });
}
