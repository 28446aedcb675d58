import type { Headers, Payload, ProtoFailure } from '@temporalio/common';

/**
 * Activations and commands, with the field names of sdk-core's protocol, so that `dev/replay/commands.ts` can compare
 * the commands of both the real and the simulated SDK. Only the fields that our workflows use.
 */
export interface Activation {
  /** When the task started. The run sees it as the current time. */
  timestamp: { seconds: number; nanos: number };
  /** Number of events up to the start of the task. */
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
  originalExecutionRunId: string;
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

/** Exactly one field is set. */
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

/** One field named after the command, and the metadata that the UI shows. */
export type Command = Record<string, unknown> & { userMetadata?: { summary?: Payload } };
