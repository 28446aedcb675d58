import type { Headers, Payload, ProtoFailure } from '@temporalio/common';

/**
 * What sdk-core tells a run, and what a run commands: the fields of its protocol that our workflows meet, under the names that the SDK
 * gives them. So one comparison serves the real SDK and the simulation (`dev/replay/commands.ts`).
 */
export interface Activation {
  /** The instant of the task: the time of its start, which is the clock of the run. */
  timestamp: { seconds: number; nanos: number };
  /** Events up to the start of the task. */
  historyLength: number;
  isReplaying: boolean;
  continueAsNewSuggested: boolean;
  jobs: Job[];
}

export interface InitializeWorkflow {
  workflowId: string;
  workflowType: string;
  arguments: Payload[];
  headers: Headers;
  memo: Record<string, Payload>;
  searchAttributes: Record<string, Payload>;
  startedAtMs: number;
  firstExecutionRunId: string;
  continuedFromExecutionRunId: string | undefined;
  taskQueue: string;
  randomnessSeed: number[];
}

export interface DoUpdate {
  id: string;
  protocolInstanceId: string;
  name: string;
  input: Payload[];
  headers: Headers;
  runValidator: boolean;
}

export interface SignalWorkflow {
  signalName: string;
  input: Payload[];
  headers: Headers;
}

export type Resolution =
  | { completed: { result: Payload | null } }
  | { failed: { failure: ProtoFailure } }
  | { cancelled: { failure: ProtoFailure } };

/** One thing that a run is told. Exactly one field is set. */
export interface Job {
  initializeWorkflow?: InitializeWorkflow;
  notifyHasPatch?: { patchId: string };
  signalWorkflow?: SignalWorkflow;
  doUpdate?: DoUpdate;
  cancelWorkflow?: { reason: string };
  fireTimer?: { seq: number };
  resolveActivity?: { seq: number; result: Resolution };
  resolveSignalExternalWorkflow?: { seq: number; failure?: ProtoFailure };
  resolveChildWorkflowExecutionStart?: {
    seq: number;
    succeeded?: { runId: string };
    failed?: { workflowId: string; workflowType: string };
  };
  resolveChildWorkflowExecution?: { seq: number; result: Resolution };
  updateRandomSeed?: { randomnessSeed: number[] };
}

/** A command: one field that names it, and what the UI shows of it. */
export type Command = Record<string, unknown> & { userMetadata?: { summary?: Payload } };

export interface StartTimer {
  seq: number;
  startToFireTimeout: { seconds: number; nanos: number };
}

/** Durations of the protocol. */
export interface Duration {
  seconds: number;
  nanos: number;
}

export const toDuration = (ms: number): Duration => ({
  seconds: Math.floor(ms / 1_000),
  nanos: Math.round((ms % 1_000) * 1_000_000),
});

export const fromDuration = ({ seconds, nanos }: Duration): number => seconds * 1_000 + Math.round(nanos / 1_000_000);
