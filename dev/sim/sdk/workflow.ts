// Replaces `@temporalio/workflow`: the functions that our workflows call.
import { mapToPayloads, type SearchAttributePair, toPayloads } from '@temporalio/common';
import type { WorkflowInfo } from '@temporalio/workflow';
import { payloadConverter } from '../../../src/sealing/payload-converter.js';
import { attributePayloads, sleep } from './calls.js';
import { ContinueAsNew, composed, updates } from './run.js';
import { CancellationScope } from './scopes.js';
import { activeRun } from './turn.js';

export {
  ActivityFailure,
  ApplicationFailure,
  CancelledFailure,
  TemporalFailure,
  TimeoutFailure,
} from '@temporalio/common';
export { getExternalWorkflowHandle, proxyActivities, sleep, startChild } from './calls.js';
export { ContinueAsNew } from './run.js';
export { CancellationScope, isCancellation } from './scopes.js';

/** Waits until the function returns true, or until the timeout. */
export async function condition(
  fn: () => boolean,
  timeout?: number | string,
  options?: { summary?: string },
): Promise<unknown> {
  if (timeout === undefined) return holds(fn);
  return CancellationScope.cancellable(async () => {
    try {
      return await Promise.race([sleep(timeout, options).then(() => false), holds(fn).then(() => true)]);
    } finally {
      CancellationScope.current().cancel();
    }
  });
}

function holds(fn: () => boolean): Promise<void> {
  const run = activeRun();
  return new Promise((resolve, reject) => {
    const scope = CancellationScope.current();
    if (scope.consideredCancelled) {
      scope.cancelRequested.catch(reject);
      return;
    }
    const seq = run.nextSeq.condition++;
    if (scope.cancellable)
      scope.cancelRequested.catch((error) => {
        run.conditions.delete(seq);
        reject(error);
      });
    if (fn()) resolve();
    else run.conditions.set(seq, { fn, resolve });
  });
}

interface Definition {
  type: 'signal' | 'update' | 'query';
  name: string;
}

const defined =
  (type: Definition['type']) =>
  (name: string): Definition => ({ type, name });
export const defineSignal = defined('signal');
export const defineUpdate = defined('update');
export const defineQuery = defined('query');

type Handler = (...args: unknown[]) => unknown;

export function setHandler({ type, name }: Definition, handler: Handler, options: { validator?: Handler } = {}): void {
  const run = activeRun();
  if (type === 'query') run.queryHandlers.set(name, handler);
  if (type === 'signal') {
    run.signalHandlers.set(name, handler);
    run.dispatchSignals();
  }
  if (type === 'update') {
    run.updateHandlers.set(name, { handler, validator: options.validator });
    run.dispatchUpdates();
  }
}

export const allHandlersFinished = (): boolean => activeRun().running.size === 0;
export const currentUpdateInfo = () => updates.getStore();
export const workflowInfo = (): WorkflowInfo => activeRun().info;

export function setCurrentDetails(details: string): void {
  activeRun().details = details;
}

export function upsertMemo(memo: Record<string, unknown>): void {
  const run = activeRun();
  run.push({ modifyWorkflowProperties: { upsertedMemo: { fields: mapToPayloads(payloadConverter, memo) } } });
  run.info = { ...run.info, memo: { ...run.info.memo, ...memo } };
}

export function upsertSearchAttributes(pairs: SearchAttributePair[]): void {
  const run = activeRun();
  run.push({ upsertWorkflowSearchAttributes: { searchAttributes: { indexedFields: attributePayloads(pairs) } } });
  run.info = { ...run.info, typedSearchAttributes: run.info.typedSearchAttributes.updateCopy(pairs) };
}

/** A marker that is missing in a replay is not remembered, since the run may go on live afterwards. */
export function patched(patchId: string): boolean {
  const { patches, info, push } = activeRun();
  const decided = patches.decided.get(patchId);
  if (decided !== undefined) return decided;
  if (info.unsafe.isReplaying && !patches.present.has(patchId)) return false;
  patches.decided.set(patchId, true);
  push({ setPatchMarker: { patchId, deprecated: false } });
  return true;
}

/** Makes a function that continues the run as new with its arguments. */
export function makeContinueAsNewFunc(options: { memo?: Record<string, unknown> } = {}) {
  const { info, interceptors } = activeRun();
  const { workflowType, taskQueue } = info;
  return (...args: unknown[]): Promise<never> =>
    composed(
      interceptors.outbound,
      'continueAsNew',
      continueRun,
    )({
      args,
      headers: {},
      options: { workflowType, taskQueue, ...options },
    });
}

interface ContinueInput {
  args: unknown[];
  headers: object;
  options: { workflowType: string; taskQueue: string; memo?: Record<string, unknown> };
}

async function continueRun({ args, headers, options }: ContinueInput): Promise<never> {
  const { memo, ...rest } = options;
  throw new ContinueAsNew({
    ...rest,
    headers,
    arguments: toPayloads(payloadConverter, ...args) ?? [],
    ...(memo ? { memo: mapToPayloads(payloadConverter, memo) } : {}),
  });
}

export const continueAsNew = (...args: unknown[]): Promise<never> => makeContinueAsNewFunc()(...args);

// These have no effect on a run.
const quiet = (): void => undefined;
export const setWorkflowOptions = quiet;
export const log = { trace: quiet, debug: quiet, info: quiet, warn: quiet, error: quiet };
const instrument = { add: quiet, record: quiet, set: quiet };
const instruments = () => instrument;
export const metricMeter = { createCounter: instruments, createHistogram: instruments, createGauge: instruments };
