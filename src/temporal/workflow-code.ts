import { fileURLToPath } from 'node:url';
import { getHeapStatistics } from 'node:v8';
import { bundleWorkflowCode, type Logger } from '@temporalio/worker';
import { type BundleKind, converterPaths } from '../sealing/data-converter.js';

/** No extension: found beside the source and beside the compiled file. */
const workflowInterceptorModules = [
  fileURLToPath(new URL('../workflows/caller-trace', import.meta.url)),
  fileURLToPath(new URL('../workflows/interceptors', import.meta.url)),
];

/** Where a build leaves the bundle, beside the compiled file: failures of workflows are encoded, or in clear. */
export const bundlePath = ({ encodesFailures }: BundleKind): string =>
  fileURLToPath(new URL(encodesFailures ? './workflow-bundle-encoding.js' : './workflow-bundle.js', import.meta.url));

/** The workflows as one script, for `workflowBundle`. Rejects when they import what workflows may not. */
export async function bundleWorkflows(
  workflowsPath: string,
  logger: Logger,
  kind: BundleKind = { encodesFailures: false },
): Promise<string> {
  // All runs in a worker share our modules, which hold no state of a run; copies would take two fifths of the heap of a run.
  const converters = converterPaths(kind);
  const preloadModules = [workflowsPath, ...workflowInterceptorModules, ...Object.values(converters)];
  const options = { workflowsPath, preloadModules, workflowInterceptorModules, logger, ...converters };
  return (await bundleWorkflowCode(options)).code;
}

const mebibyte = 1_048_576;
/** The heap of a worker that follows no order. */
const ownHeap = 100;
/** A run takes about 40 kB of the heap; the rest is room for garbage. */
const runsPerMebibyte = 8;
const fewestRuns = 200;

/** How many runs the workflow cache of a worker holds. The SDK's default assumes runs fifteen times as big as ours. */
export function cachedRuns(): number {
  const heap = getHeapStatistics().heap_size_limit / mebibyte;
  return Math.max(fewestRuns, Math.floor((heap - ownHeap) * runsPerMebibyte));
}
