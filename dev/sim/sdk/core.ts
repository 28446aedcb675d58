// What sdk-core does: it turns events into jobs, resolves cancelled activities, and drops commands that are undone
// within the same task.
import type { Payload, ProtoFailure } from '@temporalio/common';
import type { Command, DoUpdate, Job, Resolution } from './activation.js';
import { type Attributes, attributesOf, type Event, type PastTask } from './history.js';
import { seedOfRun } from './random.js';
import { type Code, Run } from './run.js';
import { msOf, toTime } from './times.js';
import { activate } from './turn.js';

/** A workflow task for a cached run. */
export interface Task {
  news: readonly Event[];
  updates: readonly DoUpdate[];
  /** Ids of the patches that this task recorded. Only a replay has any. */
  patches: readonly string[];
  startedMs: number;
  historyLength: number;
  continueAsNewSuggested: boolean;
  isReplaying: boolean;
}

/** The commands of each activation, and those that are sent to the server. */
export interface TaskResult {
  activations: Command[][];
  commands: Command[];
}

interface OpenActivity {
  type: string;
  id: string;
  cancellation: string;
}

interface Fields {
  seq?: number;
}

const fieldsOf = (command: Command, name: string): Fields | undefined => command[name] as Fields | undefined;

/** A cached run. */
export class Core {
  readonly run: Run;
  readonly #activities = new Map<number, OpenActivity>();
  /** Sequence numbers of sent signals and children, until their events are seen. */
  readonly #sent = { signal: [] as number[], child: [] as number[] };
  readonly #seqOfEvent = new Map<number, number>();
  readonly #activityOfEvent = new Map<number, number>();
  /** The last activity with this id. */
  readonly #seqOfActivity = new Map<string, number>();
  readonly #first: Job;

  constructor(started: Event, code: Code, runId = runIdOf(started)) {
    this.#first = initializeJob(started);
    const { initializeWorkflow } = this.#first;
    if (!initializeWorkflow) throw new TypeError('a history begins with the start of its run');
    this.run = new Run(runId, initializeWorkflow, code);
  }

  /** Remembers the ids of the events written for commands. */
  note(events: readonly Event[]): void {
    for (const event of events) {
      const id = Number(event.eventId);
      const scheduled = attributesOf(event, 'activityTaskScheduled');
      if (scheduled) this.#activityOfEvent.set(id, this.#seqOfActivity.get(scheduled.activityId ?? '') ?? 0);
      if (attributesOf(event, 'signalExternalWorkflowExecutionInitiated'))
        this.#seqOfEvent.set(id, this.#sent.signal.shift() ?? 0);
      if (attributesOf(event, 'startChildWorkflowExecutionInitiated'))
        this.#seqOfEvent.set(id, this.#sent.child.shift() ?? 0);
    }
  }

  /** Carries out a task, which may take several activations. Throws if the task fails. */
  async take(task: Task): Promise<TaskResult> {
    const { startedMs, ...about } = task;
    this.note(task.news);
    const activations: Command[][] = [];
    const kept: Command[] = [];
    let jobs = this.#jobsOf(task);
    while (jobs.length > 0) {
      const commands = await activate(this.run, { ...about, timestamp: toTime(startedMs), jobs });
      activations.push(commands);
      jobs = commands.flatMap((command) => this.#weigh(command, kept));
    }
    for (const command of kept) {
      const signal = fieldsOf(command, 'signalExternalWorkflowExecution');
      const child = fieldsOf(command, 'startChildWorkflowExecution');
      if (signal) this.#sent.signal.push(signal.seq ?? 0);
      if (child) this.#sent.child.push(child.seq ?? 0);
    }
    return { activations, commands: kept };
  }

  #jobsOf({ news, updates, patches }: Task): Job[] {
    const told = news.flatMap((event) => this.#jobOf(event) ?? []);
    const jobs = [
      ...patches.map((patchId): Job => ({ notifyHasPatch: { patchId } })),
      ...told,
      ...updates.map((doUpdate): Job => ({ doUpdate })),
    ];
    return jobs.sort((one, other) => rankOf(one) - rankOf(other));
  }

  /** Keeps a command for the server, or drops the command that it undoes. Returns jobs that follow at once. */
  #weigh(command: Command, kept: Command[]): Job[] {
    const scheduled = command.scheduleActivity as
      | { seq: number; activityType: string; activityId: string; cancellationType: string }
      | undefined;
    if (scheduled) {
      const { activityType: type, activityId: id, cancellationType: cancellation } = scheduled;
      this.#activities.set(scheduled.seq, { type, id, cancellation });
      this.#seqOfActivity.set(id, scheduled.seq);
    }
    const timer = fieldsOf(command, 'cancelTimer');
    if (timer) {
      if (!takeBack(kept, 'startTimer', timer.seq)) kept.push(command);
      return [];
    }
    const cancelled = fieldsOf(command, 'requestCancelActivity');
    if (!cancelled) {
      kept.push(command);
      return [];
    }
    const { seq = 0 } = cancelled;
    const open = this.#activities.get(seq);
    if (!open) return [];
    const wasUnsent = takeBack(kept, 'scheduleActivity', seq);
    if (!wasUnsent && open.cancellation !== 'ABANDON') kept.push(command);
    if (!wasUnsent && open.cancellation === 'WAIT_CANCELLATION_COMPLETED') return [];
    this.#activities.delete(seq);
    return [{ resolveActivity: { seq, result: { cancelled: { failure: cancelledActivity(open) } } } }];
  }

  #jobOf(event: Event): Job | undefined {
    if (attributesOf(event, 'workflowExecutionStarted')) return this.#first;
    return messageJob(event) ?? this.#activityJob(event) ?? this.#otherRunJob(event) ?? resetJob(event);
  }

  #activityJob(event: Event): Job | undefined {
    const completed = attributesOf(event, 'activityTaskCompleted');
    const failed = attributesOf(event, 'activityTaskFailed') ?? attributesOf(event, 'activityTaskTimedOut');
    const cancelled = attributesOf(event, 'activityTaskCanceled');
    const end = completed ?? failed ?? cancelled;
    if (!end) return undefined;
    const seq = this.#activityOfEvent.get(Number(end.scheduledEventId)) ?? 0;
    const open = this.#activities.get(seq);
    if (!open) return undefined; // resolved when it was cancelled
    this.#activities.delete(seq);
    const result = (): Resolution => {
      if (completed) return { completed: { result: completed.result?.payloads?.[0] ?? null } };
      if (failed)
        return {
          failed: { failure: activityFailure(open, 'Activity task failed', failed.retryState, failed.failure) },
        };
      return { cancelled: { failure: cancelledActivity(open, cancelled?.details?.payloads) } };
    };
    return { resolveActivity: { seq, result: result() } };
  }

  #otherRunJob(event: Event): Job | undefined {
    const seqOf = ({ initiatedEventId }: { initiatedEventId?: unknown }) =>
      this.#seqOfEvent.get(Number(initiatedEventId)) ?? 0;
    const signalled = attributesOf(event, 'externalWorkflowExecutionSignaled');
    if (signalled) return { resolveSignalExternalWorkflow: { seq: seqOf(signalled) } };
    const unsignalled = attributesOf(event, 'signalExternalWorkflowExecutionFailed');
    if (unsignalled) return { resolveSignalExternalWorkflow: { seq: seqOf(unsignalled), failure: notSignalled } };
    const started = attributesOf(event, 'childWorkflowExecutionStarted');
    if (started) {
      const { runId } = started.workflowExecution ?? {};
      return { resolveChildWorkflowExecutionStart: { seq: seqOf(started), succeeded: { runId: runId ?? '' } } };
    }
    const unstarted = attributesOf(event, 'startChildWorkflowExecutionFailed');
    if (unstarted) {
      const failed = { workflowId: unstarted.workflowId ?? '', workflowType: unstarted.workflowType?.name ?? '' };
      return { resolveChildWorkflowExecutionStart: { seq: seqOf(unstarted), failed } };
    }
    return childEnd(event, seqOf);
  }
}

const runIdOf = (started: Event): string =>
  attributesOf(started, 'workflowExecutionStarted')?.originalExecutionRunId ?? '';

function initializeJob(event: Event): Job {
  const started: Attributes<'workflowExecutionStarted'> = attributesOf(event, 'workflowExecutionStarted') ?? {};
  return {
    initializeWorkflow: {
      workflowId: started.workflowId ?? '',
      workflowType: started.workflowType?.name ?? '',
      arguments: started.input?.payloads ?? [],
      headers: started.header?.fields ?? {},
      memo: started.memo?.fields ?? {},
      searchAttributes: started.searchAttributes?.indexedFields ?? {},
      startedAtMs: msOf(event.eventTime),
      firstExecutionRunId: started.firstExecutionRunId ?? '',
      originalExecutionRunId: started.originalExecutionRunId ?? '',
      continuedFromExecutionRunId: started.continuedExecutionRunId || undefined,
      taskQueue: started.taskQueue?.name ?? '',
      randomnessSeed: seedOfRun(started.originalExecutionRunId ?? ''),
    },
  };
}

function messageJob(event: Event): Job | undefined {
  const signal = attributesOf(event, 'workflowExecutionSignaled');
  if (signal) {
    const { signalName, input, header } = signal;
    const headers = header?.fields ?? {};
    return { signalWorkflow: { signalName: signalName ?? '', input: input?.payloads ?? [], headers } };
  }
  const cancelled = attributesOf(event, 'workflowExecutionCancelRequested');
  if (cancelled) return { cancelWorkflow: { reason: cancelled.cause ?? '' } };
  const fired = attributesOf(event, 'timerFired');
  if (fired) return { fireTimer: { seq: Number(fired.timerId) } };
  return undefined;
}

/** After a reset the run gets a new random seed. */
function resetJob(event: Event): Job | undefined {
  const failed = attributesOf(event, 'workflowTaskFailed');
  return failed?.newRunId ? { updateRandomSeed: { randomnessSeed: seedOfRun(failed.newRunId) } } : undefined;
}

function childEnd(event: Event, seqOf: (about: { initiatedEventId?: unknown }) => number): Job | undefined {
  const completed = attributesOf(event, 'childWorkflowExecutionCompleted');
  if (completed) {
    const result: Resolution = { completed: { result: completed.result?.payloads?.[0] ?? null } };
    return { resolveChildWorkflowExecution: { seq: seqOf(completed), result } };
  }
  const failed =
    attributesOf(event, 'childWorkflowExecutionFailed') ??
    attributesOf(event, 'childWorkflowExecutionTerminated') ??
    attributesOf(event, 'childWorkflowExecutionCanceled') ??
    attributesOf(event, 'childWorkflowExecutionTimedOut');
  if (!failed) return undefined;
  const { namespace, workflowExecution, workflowType } = failed;
  const failure: ProtoFailure = {
    message: 'Child Workflow execution failed',
    childWorkflowExecutionFailureInfo: {
      namespace: namespace ?? 'default',
      workflowExecution: workflowExecution ?? {},
      workflowType: workflowType ?? {},
    },
  };
  return { resolveChildWorkflowExecution: { seq: seqOf(failed), result: { failed: { failure } } } };
}

/** The order of jobs in an activation. */
function rankOf(job: Job): number {
  if (job.initializeWorkflow) return 0;
  if (job.notifyHasPatch) return 1;
  if (job.updateRandomSeed) return 2;
  return job.signalWorkflow || job.doUpdate ? 3 : 4;
}

function takeBack(kept: Command[], name: string, seq: number | undefined): boolean {
  const at = kept.findIndex((command) => fieldsOf(command, name)?.seq === seq);
  if (at < 0) return false;
  kept.splice(at, 1);
  return true;
}

const activityFailure = (
  { type, id }: OpenActivity,
  message: string,
  retryState: unknown,
  cause: ProtoFailure | null | undefined,
): ProtoFailure => ({
  message,
  activityFailureInfo: { activityType: { name: type }, activityId: id, retryState: Number(retryState ?? 0) },
  cause: cause ?? null,
});

const cancelRequested = 7; // temporal.api.enums.v1.RetryState

const cancelledActivity = (open: OpenActivity, details?: Payload[] | null): ProtoFailure =>
  activityFailure(open, 'Activity cancelled', cancelRequested, {
    message: 'Activity cancelled',
    canceledFailureInfo: details ? { details: { payloads: details } } : {},
  });

const notSignalled: ProtoFailure = {
  message: 'Unable to signal external workflow because it was not found',
  applicationFailureInfo: { type: 'ExternalWorkflowExecutionNotFound', nonRetryable: true },
};

/** A task of the past, to be replayed. Its updates and patches are in the events of its commands. */
export function pastTask({ started, news, done, admitted }: PastTask): Task {
  const { suggestContinueAsNew } = attributesOf(started, 'workflowTaskStarted') ?? {};
  return {
    news,
    updates: done.flatMap((event) => acceptedUpdate(event, admitted) ?? []),
    patches: done.flatMap((event) => patchIn(event) ?? []),
    startedMs: msOf(started.eventTime),
    historyLength: Number(started.eventId),
    continueAsNewSuggested: suggestContinueAsNew ?? false,
    isReplaying: true,
  };
}

function acceptedUpdate(event: Event, admitted: PastTask['admitted']): DoUpdate | undefined {
  const accepted = attributesOf(event, 'workflowExecutionUpdateAccepted');
  if (!accepted) return undefined;
  const { acceptedRequest, protocolInstanceId } = accepted;
  const { meta, input } = acceptedRequest ?? admitted.get(protocolInstanceId ?? '') ?? {};
  return {
    id: meta?.updateId ?? '',
    protocolInstanceId: protocolInstanceId ?? '',
    name: input?.name ?? '',
    input: input?.args?.payloads ?? [],
    headers: input?.header?.fields ?? {},
    runValidator: false,
  };
}

function patchIn(event: Event): string | undefined {
  const { markerName, details } = attributesOf(event, 'markerRecorded') ?? {};
  if (markerName !== 'core_patch') return undefined;
  const [payload] = Object.values(details ?? {})[0]?.payloads ?? [];
  return (JSON.parse(Buffer.from(payload?.data ?? []).toString()) as { id: string }).id;
}
