import { createRequire } from 'node:module';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { converterPaths } from '../../../src/sealing/data-converter.js';
import * as encodedFailures from '../../../src/sealing/encoded-failures.js';
import * as payloadConverter from '../../../src/sealing/payload-converter.js';
import * as plainFailures from '../../../src/sealing/plain-failures.js';

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
