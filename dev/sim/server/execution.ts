import type { Payload, ProtoFailure } from '@temporalio/common';
import type { Attributes, Event, EventKind } from '../sdk/history.js';
import { History } from './history.js';
import { type Update, Updates } from './updates.js';

/** The words of `temporal.api.enums.v1.WorkflowExecutionStatus`, by their numbers. */
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

/** Who takes tasks. */
export interface Poller {
  readonly identity: string;
}

/** A workflow task that waits for a worker, or that one has. */
export interface WorkflowTask {
  /** Each has a number of its own: what comes for an earlier one comes too late. */
  number: number;
  attempt: number;
  scheduledMs: number;
  startedMs: number | null;
  /** Of its events. Before they are written, those that they would have. */
  scheduledId: number;
  startedId: number;
  /** It leaves no events unless the run does something: the run is only asked for an update. */
  isSpeculative: boolean;
  isWritten: boolean;
  suggestsContinueAsNew: boolean;
}

/** What `scheduleActivity` has asked for. */
export interface ActivityOrder {
  seq: number;
  activityId: string;
  activityType: string;
  arguments: Payload[];
  headers: Record<string, Payload>;
  taskQueue: string;
  retry: { initialMs: number; coefficient: number; maximumMs: number; attempts: number };
  heartbeatMs: number | null;
  scheduleToStartMs: number | null;
  scheduleToCloseMs: number | null;
  startToCloseMs: number;
  priority: number;
}

/** An activity whose end is in no history yet. */
export interface PendingActivity extends ActivityOrder {
  scheduledId: number;
  scheduledMs: number;
  /** When this attempt was scheduled. */
  attemptMs: number;
  attempt: number;
  state: 'scheduled' | 'started' | 'backoff';
  /** Changes with each attempt, pause and reset: what comes for an earlier one comes too late. */
  stamp: number;
  startedMs: number;
  startedBy: Poller | null;
  heartbeat: Payload[] | null;
  heartbeatMsAt: number;
  lastFailure: ProtoFailure | null;
  cancelRequestedId: number | null;
  isPaused: boolean;
}

export interface Timer {
  id: string;
  startedId: number;
}

/** One run, as the server knows it. */
export class Execution {
  readonly history = new History();
  readonly updates = new Updates();
  readonly activities = new Map<number, PendingActivity>();
  readonly timers = new Map<string, Timer>();
  readonly children = new Map<number, { workflowId: string; runId: string; startedId: number }>();
  status: Status = 'RUNNING';
  closedMs: number | null = null;
  task: WorkflowTask | null = null;
  attempt = 1;
  /** The worker that has the run in its memory. */
  sticky: Poller | null = null;
  /** The run tried to end in its last task, and events had come meanwhile. */
  closeAttempted = false;
  isCancelRequested = false;
  memo: Record<string, Payload>;
  searchAttributes: Record<string, Payload>;
  details = '';
  parent: { execution: Execution; initiatedId: number } | null = null;
  continuedTo: string | null = null;
  /** Its first task is not due yet. */
  isDelayed = false;
  /** Signals whose senders may send them again. */
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

  /** Of what happens outside of a task: it waits while one is under way. */
  record<Kind extends EventKind>(kind: Kind, attributes: Attributes<Kind>, ms: number): void {
    if (this.task?.startedMs) this.history.buffer(kind, attributes, ms);
    else this.history.write(kind, attributes, ms);
  }
}

/** What a worker gets of a run. */
export interface StartedTask {
  execution: Execution;
  number: number;
  /** The whole history, with the events that this task has or would have. */
  events: readonly Event[];
  updates: readonly Update[];
  startedMs: number;
  startedId: number;
  /** Of the last event that stays, whatever becomes of the task. */
  writtenId: number;
  continueAsNewSuggested: boolean;
}

/** What a worker gets of an activity. */
export interface StartedActivity {
  execution: Execution;
  activity: PendingActivity;
  stamp: number;
}
