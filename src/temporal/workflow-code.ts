import { fileURLToPath } from 'node:url';
import { getHeapStatistics } from 'node:v8';
import { bundleWorkflowCode, type Logger } from '@temporalio/worker';
import { type BundleKind, converterPaths } from '../sealing/data-converter.js';

/** No extension: found beside the source and beside the compiled file. */
const workflowInterceptorModules = [fileURLToPath(new URL('../workflows/interceptors', import.meta.url))];

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
/** The young generation, 48 MiB by default, and the heap of a worker that follows no order. */
const ownHeap = 150;
/** A followed order takes about 95 kB of the heap (`test/e2e/worker/memory.test.ts`); as much again is room for garbage and bigger runs. */
const runsPerMebibyte = 5;
/** Each may be a ride with a body that takes a megabyte and more of the heap, until it is ordered. */
const fewestRuns = 20;
/**
 * Runs that a worker takes over are replayed side by side on one thread. If it had more of them than it can replay in ten seconds, Temporal
 * would take all their tasks away, and the replays would begin again. With far fewer, pollers of one queue starve the other.
 */
const mostTasks = 40;

/** How many runs the workflow cache of a worker holds, so that they fit the heap. The SDK's default assumes runs far bigger than ours. */
export function cachedRuns(): number {
  const heap = getHeapStatistics().heap_size_limit / mebibyte;
  return Math.max(fewestRuns, Math.floor((heap - ownHeap) * runsPerMebibyte));
}

/** How many workflow tasks a worker with such a cache has at a time: what they decode must find room, too. */
export const workflowTasks = (cached: number): number => Math.min(mostTasks, Math.floor(cached / 2));
