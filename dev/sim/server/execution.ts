import type { Payload, ProtoFailure } from '@temporalio/common';
import type { Attributes, Event, EventKind } from '../sdk/history.js';
import { History } from './history.js';
import { type Update, Updates } from './updates.js';

/** `temporal.api.enums.v1.WorkflowExecutionStatus` */
export const statuses = {
  RUNNING: 1,
  COMPLETED: 2,
  FAILED: 3,
  CANCELED: 4,
  TERMINATED: 5,
  CONTINUED_AS_NEW: 6,
  TIMED_OUT: 7,
} as const;
export type Status = keyof typeof statuses;

/** A worker that polls for tasks. */
export interface Poller {
  readonly identity: string;
}

/** A workflow task that is scheduled or started. */
export interface WorkflowTask {
  /** Unique, so that late answers to an earlier task are recognised. */
  number: number;
  attempt: number;
  scheduledMs: number;
  startedMs: number | null;
  /** Ids of its events: the real ones, or those that the events would get if they were written now. */
  scheduledId: number;
  startedId: number;
  /** Scheduled only for an update: if the run rejects it, no events are written. */
  isSpeculative: boolean;
  isWritten: boolean;
  suggestsContinueAsNew: boolean;
}

/** The options of a scheduled activity. */
export interface ActivityOrder {
  seq: number;
  activityId: string;
  activityType: string;
  arguments: Payload[];
  taskQueue: string;
  retry: { initialMs: number; coefficient: number; maximumMs: number; attempts: number };
  heartbeatMs: number | null;
  scheduleToStartMs: number | null;
  scheduleToCloseMs: number | null;
  startToCloseMs: number;
}

/** An activity that has not ended. */
export interface PendingActivity extends ActivityOrder {
  scheduledId: number;
  scheduledMs: number;
  /** When the current attempt was scheduled. */
  attemptMs: number;
  attempt: number;
  state: 'scheduled' | 'started' | 'backoff';
  /** Changes with each attempt and with most actions of operators, so that earlier offers and waits are recognised. */
  stamp: number;
  /** Number of times that a worker has started it. */
  starts: number;
  startedMs: number;
  startedBy: Poller | null;
  heartbeat: Payload[] | null;
  heartbeatMsAt: number;
  lastFailure: ProtoFailure | null;
  cancelRequestedId: number | null;
  isPaused: boolean;
  /** An operator has reset it during its present attempt. */
  isReset: boolean;
}

export interface Timer {
  id: string;
  startedId: number;
}

/** The server's state of one run. */
export class Execution {
  readonly history = new History();
  readonly updates = new Updates();
  readonly activities = new Map<number, PendingActivity>();
  readonly timers = new Map<string, Timer>();
  readonly children = new Map<number, { workflowId: string; runId: string }>();
  status: Status = 'RUNNING';
  closedMs: number | null = null;
  task: WorkflowTask | null = null;
  attempt = 1;
  /** The worker that has the run in its cache. */
  sticky: Poller | null = null;
  /** The last task tried to close the run, but there were events it had not seen. */
  closeAttempted = false;
  isCancelRequested = false;
  memo: Record<string, Payload>;
  searchAttributes: Record<string, Payload>;
  parent: { execution: Execution; initiatedId: number } | null = null;
  continuedTo: string | null = null;
  /** The first task is not due yet. */
  isDelayed = false;
  /** Attempts of its activities so far. Each is billed. */
  activityAttempts = 0;
  /** Request ids of signals, to recognise repeated requests. */
  readonly requestIds = new Set<string>();

  readonly workflowId: string;
  readonly runId: string;
  readonly type: string;
  readonly taskQueue: string;
  readonly started: Attributes<'workflowExecutionStarted'>;
  readonly startedMs: number;

  constructor(started: Attributes<'workflowExecutionStarted'>, runId: string, ms: number) {
    this.started = started;
    this.startedMs = ms;
    this.workflowId = started.workflowId ?? '';
    this.runId = runId;
    this.type = started.workflowType?.name ?? '';
    this.taskQueue = started.taskQueue?.name ?? '';
    this.memo = { ...started.memo?.fields };
    this.searchAttributes = { ...started.searchAttributes?.indexedFields };
  }

  get isOpen(): boolean {
    return this.status === 'RUNNING';
  }

  get events(): readonly Event[] {
    return this.history.events;
  }

  get firstRunId(): string {
    return this.started.firstExecutionRunId ?? '';
  }

  /** Records an event from outside a workflow task: at once, or buffered while a task is running. */
  record<Kind extends EventKind>(kind: Kind, attributes: Attributes<Kind>, ms: number): void {
    if (this.task?.startedMs) this.history.buffer(kind, attributes, ms);
    else this.history.write(kind, attributes, ms);
  }
}

/** A workflow task as a worker receives it. */
export interface StartedTask {
  execution: Execution;
  number: number;
  /** The whole history. For a task that is not written yet, it ends with the events the task would get. */
  events: readonly Event[];
  updates: readonly Update[];
  startedMs: number;
  startedId: number;
  /** The last event that is really written. */
  writtenId: number;
  continueAsNewSuggested: boolean;
}

/** An activity task as a worker receives it. */
export interface StartedActivity {
  execution: Execution;
  activity: PendingActivity;
  /** Values of the activity when the worker started it. */
  starts: number;
  attempt: number;
}
