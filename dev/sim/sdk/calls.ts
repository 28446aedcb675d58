// Timers, activities, signals and children. Each call makes a command, and a promise that its scope can cancel.
import {
  compilePriority,
  compileRetryPolicy,
  encodeWorkflowIdReusePolicy,
  type Headers,
  mapToPayloads,
  type Payload,
  toPayloads,
} from '@temporalio/common';
import type { ActivityOptions, ChildWorkflowOptions } from '@temporalio/workflow';
import { payloadConverter } from '../../../src/sealing/payload-converter.js';
import type { Command } from './activation.js';
import { type Awaited, composed, type Run } from './run.js';
import { CancellationScope } from './scopes.js';
import { toTime } from './times.js';
import { activeRun } from './turn.js';

const units = { ms: 1, second: 1_000, minute: 60_000, hour: 3_600_000, day: 86_400_000 };

/** Converts a duration such as "10 seconds" to milliseconds. */
export function toMs(given: number | string): number {
  if (typeof given === 'number') return given;
  const [, count = '', unit = ''] = /^([\d.]+) ?(ms|second|minute|hour|day)s?$/.exec(given) ?? [];
  if (unit === '') throw new TypeError(`no duration: ${given}`);
  return Number(count) * units[unit as keyof typeof units];
}

const optionalTime = (given: number | string | undefined) => (given === undefined ? undefined : toTime(toMs(given)));

const summarized = (summary: string | undefined): Pick<Command, 'userMetadata'> =>
  summary === undefined ? {} : { userMetadata: { summary: payloadConverter.toPayload(summary) } };

interface Call {
  kind: Awaited;
  seq: number;
  command: () => Command;
  /** Called when the scope is cancelled while the call is open. */
  cancel: (run: Run, reject: (error: unknown) => void, error: unknown) => void;
}

function called<Result>({ kind, seq, command, cancel }: Call): Promise<Result> {
  const run = activeRun();
  return new Promise<Result>((resolve, reject) => {
    const scope = CancellationScope.current();
    if (scope.consideredCancelled) {
      scope.cancelRequested.catch(reject);
      return;
    }
    if (scope.cancellable)
      scope.cancelRequested.catch((error) => {
        if (run.waiting[kind].has(seq)) cancel(run, reject, error);
      });
    run.push(command());
    run.waiting[kind].set(seq, { resolve: resolve as (value: unknown) => void, reject });
  });
}

const outbound = <Input, Output>(method: string, last: (input: Input) => Output) =>
  composed(activeRun().interceptors.outbound, method, last);

/** Starts a timer of at least one millisecond. */
export function sleep(ms: number | string, options: { summary?: string } = {}): Promise<void> {
  const seq = activeRun().nextSeq.timer++;
  const durationMs = Math.max(1, toMs(ms));
  return outbound('startTimer', startTimer)({ durationMs, seq, options });
}

interface TimerInput {
  durationMs: number;
  seq: number;
  options: { summary?: string };
}

const startTimer = ({ durationMs, seq, options }: TimerInput): Promise<void> =>
  called({
    kind: 'timer',
    seq,
    command: () => ({
      startTimer: { seq, startToFireTimeout: toTime(durationMs) },
      ...summarized(options.summary),
    }),
    cancel(run, reject, error) {
      run.waiting.timer.delete(seq);
      run.push({ cancelTimer: { seq } });
      reject(error);
    },
  });

/** Each property is a function that schedules the activity of that name. */
export const proxyActivities = (options: ActivityOptions): Record<string, (...args: unknown[]) => Promise<unknown>> =>
  new Proxy(
    {},
    {
      get:
        (_, activityType: string) =>
        (...args: unknown[]) => {
          const seq = activeRun().nextSeq.activity++;
          return outbound('scheduleActivity', scheduleActivity)({ activityType, headers: {}, options, args, seq });
        },
    },
  );

interface ActivityInput {
  activityType: string;
  headers: Headers;
  options: ActivityOptions;
  args: unknown[];
  seq: number;
}

const scheduleActivity = ({ activityType, headers, options, args, seq }: ActivityInput): Promise<unknown> =>
  called({
    kind: 'activity',
    seq,
    command: () => ({
      scheduleActivity: {
        seq,
        activityId: options.activityId ?? `${seq}`,
        activityType,
        headers,
        arguments: toPayloads(payloadConverter, ...args) ?? [],
        retryPolicy: options.retry && compileRetryPolicy(options.retry),
        taskQueue: options.taskQueue ?? activeRun().info.taskQueue,
        heartbeatTimeout: optionalTime(options.heartbeatTimeout),
        scheduleToCloseTimeout: optionalTime(options.scheduleToCloseTimeout),
        startToCloseTimeout: optionalTime(options.startToCloseTimeout),
        scheduleToStartTimeout: optionalTime(options.scheduleToStartTimeout),
        cancellationType: options.cancellationType ?? 'TRY_CANCEL',
        priority: options.priority && compilePriority(options.priority),
      },
      ...summarized(options.summary),
    }),
    cancel: (run) => run.push({ requestCancelActivity: { seq } }),
  });

/** A handle for sending signals to another workflow. */
export const getExternalWorkflowHandle = (workflowId: string) => ({
  workflowId,
  signal(definition: string | { name: string }, ...args: unknown[]): Promise<void> {
    const seq = activeRun().nextSeq.signalWorkflow++;
    const signalName = typeof definition === 'string' ? definition : definition.name;
    const input = { seq, signalName, args, headers: {}, workflowId };
    return outbound('signalWorkflow', signalWorkflow)(input);
  },
});

interface SignalInput {
  seq: number;
  signalName: string;
  args: unknown[];
  headers: Headers;
  workflowId: string;
}

const signalWorkflow = ({ seq, signalName, args, headers, workflowId }: SignalInput): Promise<void> =>
  called({
    kind: 'signalWorkflow',
    seq,
    command: () => ({
      signalExternalWorkflowExecution: {
        seq,
        signalName,
        headers,
        args: toPayloads(payloadConverter, ...args) ?? [],
        workflowExecution: { namespace: 'default', workflowId },
      },
    }),
    cancel: (run) => run.push({ cancelSignalWorkflow: { seq } }),
  });

type StartOptions = ChildWorkflowOptions & { workflowId: string; args?: unknown[] };

interface ChildInput {
  seq: number;
  workflowType: string;
  options: StartOptions;
  headers: Headers;
}

/** Resolves when the child has started. */
export async function startChild(workflowType: string | { name: string }, options: StartOptions): Promise<object> {
  const seq = activeRun().nextSeq.childWorkflow++;
  const name = typeof workflowType === 'string' ? workflowType : workflowType.name;
  // The SDK wraps both promises in a third one, which takes extra microtasks.
  const [started, ended] = await outbound(
    'startChildWorkflowExecution',
    startChildWorkflow,
  )({
    seq,
    options,
    headers: {},
    workflowType: name,
  });
  const firstExecutionRunId = await started;
  return { workflowId: options.workflowId, firstExecutionRunId, result: () => ended };
}

const closePolicies: Record<string, number> = { TERMINATE: 1, ABANDON: 2, REQUEST_CANCEL: 3 };

function startChildWorkflow(input: ChildInput): Promise<[Promise<unknown>, Promise<unknown>]> {
  const { seq } = input;
  const run = activeRun();
  const started = called<unknown>({
    kind: 'childWorkflowStart',
    seq,
    command: () => childCommand(input),
    cancel: () => run.push({ cancelChildWorkflowExecution: { childWorkflowSeq: seq } }),
  });
  const ended = new Promise<unknown>((resolve, reject) => {
    started.catch(reject);
    run.waiting.childWorkflowComplete.set(seq, { resolve, reject });
  });
  ended.catch(() => undefined);
  return new Promise((resolve) => resolve([started, ended]));
}

const childCommand = ({ seq, workflowType, options, headers }: ChildInput): Command => ({
  startChildWorkflowExecution: {
    seq,
    workflowType,
    workflowId: options.workflowId,
    namespace: 'default',
    headers,
    input: toPayloads(payloadConverter, ...(options.args ?? [])) ?? [],
    retryPolicy: options.retry && compileRetryPolicy(options.retry),
    taskQueue: options.taskQueue ?? activeRun().info.taskQueue,
    workflowIdReusePolicy: encodeWorkflowIdReusePolicy(options.workflowIdReusePolicy),
    parentClosePolicy: closePolicies[options.parentClosePolicy ?? ''],
    searchAttributes: options.typedSearchAttributes && {
      indexedFields: attributePayloads(options.typedSearchAttributes),
    },
    memo: options.memo && mapToPayloads(payloadConverter, options.memo),
    priority: options.priority && compilePriority(options.priority),
  },
  ...summarized(options.staticSummary),
});

interface Pair {
  key: { name: string; type: string };
  value: unknown;
}

/** Encodes search attributes as JSON payloads. Those with a value also carry their type. */
export function attributePayloads(given: Pair[] | { getAll(): Pair[] }): Record<string, Payload> {
  const pairs = Array.isArray(given) ? given : given.getAll();
  return Object.fromEntries(
    pairs.map(({ key, value }) => {
      const payload = payloadConverter.toPayload(value);
      if (value === null) return [key.name, { ...payload, metadata: { encoding: Buffer.from('json/plain') } }];
      return [
        key.name,
        { ...payload, metadata: { ...payload.metadata, type: Buffer.from(typeNames[key.type] ?? key.type) } },
      ];
    }),
  );
}

const typeNames: Record<string, string> = {
  KEYWORD: 'Keyword',
  TEXT: 'Text',
  INT: 'Int',
  DOUBLE: 'Double',
  BOOL: 'Bool',
  DATETIME: 'Datetime',
  KEYWORD_LIST: 'KeywordList',
};
