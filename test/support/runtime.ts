import { DefaultLogger, Runtime } from '@temporalio/worker';

/** Once per process: failures that tests cause on purpose are not printed. */
export function quietRuntime(): void {
  Runtime.install({
    logger: new DefaultLogger('ERROR'),
    telemetryOptions: { logging: { forward: {}, filter: { core: 'ERROR', other: 'ERROR' } } },
  });
}
