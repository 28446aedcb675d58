// Compares the commands of a rebuilt run with its history.
import type { Command } from '../sdk/activation.js';
import { attributesOf, type Event, type PastTask } from '../sdk/history.js';

/** The command behind each kind of event. */
const commandOf: Record<string, string> = {
  activityTaskScheduled: 'scheduleActivity',
  activityTaskCancelRequested: 'requestCancelActivity',
  timerStarted: 'startTimer',
  timerCanceled: 'cancelTimer',
  signalExternalWorkflowExecutionInitiated: 'signalExternalWorkflowExecution',
  startChildWorkflowExecutionInitiated: 'startChildWorkflowExecution',
  workflowPropertiesModified: 'modifyWorkflowProperties',
  upsertWorkflowSearchAttributes: 'upsertWorkflowSearchAttributes',
  markerRecorded: 'setPatchMarker',
  workflowExecutionUpdateAccepted: 'accepted',
  workflowExecutionCompleted: 'completeWorkflowExecution',
  workflowExecutionFailed: 'failWorkflowExecution',
  workflowExecutionCanceled: 'cancelWorkflowExecution',
  workflowExecutionContinuedAsNew: 'continueAsNewWorkflowExecution',
};

/** Describes the first difference; null if there is none. Results of updates are not compared. */
export function differenceOf(commands: readonly Command[], { done, isMerged }: PastTask): string | null {
  // In a merged task updates come first, so that inputs may differ. Servers and SDKs do not compare them.
  const compared = (text: string): string => (isMerged ? text.split(' ', 2).join(' ') : text);
  const now = commands.flatMap((command) => said(command) ?? []).map(compared);
  const then = done.flatMap((event) => recorded(event) ?? []).map(compared);
  const at = Array.from({ length: Math.max(now.length, then.length) }, (_, index) => index).find(
    (index) => now[index] !== then[index],
  );
  return at === undefined ? null : `was ${then[at]}, is ${now[at]}`;
}

function said(command: Command): string | undefined {
  const [[name = '', sent] = []] = Object.entries(command);
  const told = sent as Record<string, unknown>;
  if (name === 'updateResponse') return told.accepted ? 'accepted' : undefined;
  const subject = told.activityType ?? told.signalName ?? told.workflowId ?? told.patchId ?? '';
  const payloads = told.arguments ?? told.args ?? told.input ?? (told.result ? [told.result] : []);
  return `${name} ${subject} ${textOf(payloads)}`;
}

function recorded(event: Event): string | undefined {
  const [key = '', attributes] = Object.entries(event).find(([name]) => name.endsWith('EventAttributes')) ?? [];
  const name = commandOf[key.replace('EventAttributes', '')];
  if (name === undefined || isOfPatch(event)) return undefined;
  if (name === 'accepted') return name;
  const { input, result } = attributes as Record<string, { payloads?: unknown } | null | undefined>;
  return `${name} ${subjectOf(event)} ${textOf(input?.payloads ?? result?.payloads ?? [])}`;
}

/** Is this the event that lists patches, which no command of the run asks for? */
const isOfPatch = (event: Event): boolean => {
  const { searchAttributes } = attributesOf(event, 'upsertWorkflowSearchAttributes') ?? {};
  return 'TemporalChangeVersion' in (searchAttributes?.indexedFields ?? {});
};

function subjectOf(event: Event): string {
  const patch = attributesOf(event, 'markerRecorded')?.details?.['patch-data']?.payloads?.[0];
  if (patch) return (JSON.parse(Buffer.from(patch.data ?? []).toString()) as { id: string }).id;
  return (
    attributesOf(event, 'activityTaskScheduled')?.activityType?.name ??
    attributesOf(event, 'signalExternalWorkflowExecutionInitiated')?.signalName ??
    attributesOf(event, 'startChildWorkflowExecutionInitiated')?.workflowId ??
    ''
  );
}

const textOf = (payloads: unknown): string =>
  (payloads as { data?: Uint8Array }[]).map(({ data }) => Buffer.from(data ?? []).toString()).join();
