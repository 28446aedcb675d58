import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker, type WorkerOptions } from '@temporalio/worker';
import { afterAll, beforeAll, inject } from 'vitest';
import { converterPaths } from '../../../src/sealing/data-converter.js';
import * as encodedFailures from '../../../src/sealing/encoded-failures.js';
import * as payloadConverter from '../../../src/sealing/payload-converter.js';
import * as plainFailures from '../../../src/sealing/plain-failures.js';
import { repeatUntilClosed } from '../../../src/temporal/connection.js';
import { bundleWorkflows } from '../../../src/temporal/workflow-code.js';

let isInstalled = false;

/** Failures that tests cause on purpose are not printed. A process has one runtime: to ask again changes nothing. */
export function quietRuntime(): void {
  if (isInstalled) return;
  isInstalled = true;
  loadConverters();
  Runtime.install({
    logger: new DefaultLogger('ERROR'),
    telemetryOptions: { logging: { forward: {}, filter: { core: 'ERROR', other: 'ERROR' } } },
  });
}

/** A worker loads its converters by their paths, with `require`, which knows nothing of our sources: they are there already. */
function loadConverters(): void {
  const { cache } = createRequire(import.meta.url);
  const load = (path: string, exports: object): void => {
    cache[path] = { id: path, filename: path, loaded: true, exports } as NodeJS.Module;
  };
  const { payloadConverterPath, failureConverterPath } = converterPaths({ encodesFailures: false });
  load(payloadConverterPath, payloadConverter);
  load(failureConverterPath, plainFailures);
  load(converterPaths({ encodesFailures: true }).failureConverterPath, encodedFailures);
}

/** A client, and a connection for workers, to the Temporal server of the test run; for all tests of a file or a block. */
export function useTemporal(): { client: Client; native: NativeConnection } {
  const temporal = {} as { client: Client; native: NativeConnection };
  beforeAll(async () => {
    quietRuntime();
    const address = inject('temporalAddress');
    temporal.client = new Client({
      connection: await Connection.connect({ address, interceptors: repeatUntilClosed() }),
    });
    temporal.native = await NativeConnection.connect({ address });
  });
  afterAll(async () => {
    await temporal.native?.close();
    await temporal.client?.connection.close();
  });
  return temporal;
}

/** The workflows of a file of `test/support`, as one script. */
export async function bundleOf(file: `${string}-workflows.ts`): Promise<{ code: string }> {
  const path = fileURLToPath(new URL(`../${file}`, import.meta.url));
  return { code: await bundleWorkflows(path, new DefaultLogger('ERROR')) };
}

/** Starts a worker of the SDK. Gives what stops it. */
export async function runWorker(options: WorkerOptions): Promise<() => Promise<void>> {
  const worker = await Worker.create(options);
  const running = worker.run();
  return async () => {
    worker.shutdown();
    await running;
  };
}
