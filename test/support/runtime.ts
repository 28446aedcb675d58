import { DefaultLogger, Runtime } from '@temporalio/worker';

let isInstalled = false;

/** Failures that tests cause on purpose are not printed. A process has one runtime: to ask again changes nothing. */
export function quietRuntime(): void {
  if (isInstalled) return;
  isInstalled = true;
  Runtime.install({
    logger: new DefaultLogger('ERROR'),
    telemetryOptions: { logging: { forward: {}, filter: { core: 'ERROR', other: 'ERROR' } } },
  });
}
