import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import type { Worker, WorkerOptions } from 'node:worker_threads';

/** The object that the SDK takes its threads from, not the copy of its names that an import gives. */
const threads: { Worker: typeof Worker } = createRequire(import.meta.url)('node:worker_threads');

const workflowThread = /[\\/]@temporalio[\\/]worker[\\/]lib[\\/]workflow[\\/]workflow-worker-thread\.js$/;
let isLean = false;

/**
 * Makes the threads in which the SDK (1.24.0) runs workflows cheaper; call it before the first worker is created. The SDK has no options
 * for that, so each thread begins with `bootstrap`:
 *
 * - Promises keep no stacks. The SDK writes down the stack of every promise, for the query `__stack_trace` alone: two fifths of the
 *   memory of a run, and of the time of its tasks. The SDK itself does without where a runtime cannot watch promises; then the query fails and says so.
 * - One watchdog guards all of an activation. The SDK enters its sandbox four to eight times for one, and Node starts a thread for the
 *   time limit of each entry.
 */
export function leanWorkflowThreads(): void {
  if (isLean) return;
  isLean = true;
  const Thread = threads.Worker;
  threads.Worker = class extends Thread {
    constructor(file: string | URL, options?: WorkerOptions) {
      if (typeof file === 'string' && workflowThread.test(file))
        super(bootstrap(dirname(file)), { ...options, eval: true });
      else super(file, options);
    }
  };
}

/** The code of a thread; `sdk` is the SDK's folder of workflow code. The part of `activate` that runs workflow code ends before its first wait. */
const bootstrap = (sdk: string): string => `
  const sdk = (name) => require(${JSON.stringify(`${sdk}/`)} + name);
  const { Script } = require('node:vm');
  const { BaseVMWorkflow, globalHandlers } = sdk('vm-shared.js');
  const { ReusableVMWorkflowCreator } = sdk('reusable-vm.js');

  globalHandlers.setPromiseHook = () => {};

  const { create } = ReusableVMWorkflowCreator;
  const { activate } = BaseVMWorkflow.prototype;
  const stretch = new Script('activateWorkflow()');
  let timeout;
  ReusableVMWorkflowCreator.create = (bundle, limitMs, ...more) => {
    timeout = limitMs;
    return create.call(ReusableVMWorkflowCreator, bundle, undefined, ...more);
  };
  BaseVMWorkflow.prototype.activate = function (activation) {
    globalThis.activateWorkflow = () => activate.call(this, activation);
    try {
      return stretch.runInThisContext({ timeout });
    } catch (error) {
      return { runId: this.runId, failed: { failure: this.activator.errorToFailure(error) } };
    }
  };

  sdk('workflow-worker-thread.js');
`;
