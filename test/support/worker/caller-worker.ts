import { randomUUID } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import {
  type BundleOptions,
  bundleWorkflowCode,
  DefaultLogger,
  NativeConnection,
  Worker,
  type WorkerOptions,
} from '@temporalio/worker';
import { afterAll, beforeAll, inject } from 'vitest';
import { underLock } from '../../../dev/stack/temporal/server-cache.js';
import type { OrderStack } from '../order/stack.js';

/** A worker of a caller, with the workflow of an example and `caller-workflows.ts`. */
export type CallerWorker = Awaited<ReturnType<typeof startCallerWorker>>;

const path = (file: string) => fileURLToPath(new URL(file, import.meta.url));
/** The entries of the package, from the sources: tests never meet an outdated build. */
const entries = {
  faretrail$: path('../../../src/client/index.ts'),
  'faretrail/workflow$': path('../../../src/client/in-workflow.ts'),
};

/** One for all tests of a file, by default in a new namespace; it can be used from their `beforeAll` on. */
export function useCallerWorker(stack: OrderStack, options?: CallerOptions): CallerWorker {
  const caller = {} as CallerWorker;
  beforeAll(async () => void Object.assign(caller, await startCallerWorker(stack, options)), 120_000);
  afterAll(() => caller.close?.());
  return caller;
}

type CallerOptions = Pick<WorkerOptions, 'namespace' | 'activities'>;

async function startCallerWorker(
  stack: OrderStack,
  { namespace = `trips-${randomUUID()}`, activities = {} }: CallerOptions = {},
) {
  if (namespace !== 'default') await makeNamespace(stack, namespace);
  const taskQueue = `callers-${randomUUID()}`;
  const connection = await NativeConnection.connect({ address: inject('temporalAddress') });
  const workflowBundle = { codePath: await bundledCallers() };
  const worker = await Worker.create({ connection, namespace, taskQueue, activities, workflowBundle });
  const running = worker.run();
  return {
    client: new Client({ connection: stack.client.connection, namespace }),
    taskQueue,
    async close(): Promise<void> {
      worker.shutdown();
      await running;
      await connection.close();
    },
  };
}

/** One script for all tests of a run: to make it takes seconds. */
async function bundledCallers(): Promise<string> {
  const codePath = join(tmpdir(), 'caller-workflows.js');
  const webpackConfigHook: BundleOptions['webpackConfigHook'] = (config) => ({
    ...config,
    resolve: { ...config.resolve, alias: { ...config.resolve?.alias, ...entries } },
  });
  await underLock(
    codePath,
    () => undefined,
    async () => {
      if (existsSync(codePath)) return;
      const options = { workflowsPath: path('./caller-workflows.ts'), logger: new DefaultLogger('ERROR') };
      writeFileSync(codePath, (await bundleWorkflowCode({ ...options, webpackConfigHook })).code);
    },
  );
  return codePath;
}

async function makeNamespace({ client }: OrderStack, namespace: string): Promise<void> {
  const day = { seconds: 86_400 as never };
  await client.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: day });
}
