import { randomUUID } from 'node:crypto';
import type { Client, WorkflowHandle } from '@temporalio/client';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { expect, vi } from 'vitest';
import { patient } from './patience.js';

type Described = Pick<WorkflowHandle, 'describe'>;
type Recorded = Pick<WorkflowHandle, 'fetchHistory'>;

const valuesIn = (input?: { payloads?: { data?: Uint8Array | null }[] | null } | null): unknown[] =>
  (input?.payloads ?? []).map(({ data }) => JSON.parse(Buffer.from(data ?? []).toString()));

/** The events of a run, oldest first. */
export const eventsOf = async (run: Recorded) => (await run.fetchHistory()).events ?? [];

/** The timers that a run has started, in seconds. */
export const timersOf = async (run: Recorded): Promise<number[]> =>
  (await eventsOf(run)).flatMap((event) => {
    const timeout = event.timerStartedEventAttributes?.startToFireTimeout;
    return timeout ? [Number(timeout.seconds)] : [];
  });

/** Resolves once a run has started so many timers. */
export const hasTimers = (run: Recorded, least: number): Promise<void> =>
  vi.waitFor(async () => expect((await timersOf(run)).length).toBeGreaterThanOrEqual(least), patient);

/** What a run was started with. */
export const inputOf = async (run: Recorded): Promise<unknown[]> =>
  valuesIn((await eventsOf(run))[0]?.workflowExecutionStartedEventAttributes?.input);

/** The argument of each signal that a run got. */
export async function signalsTo<Argument>(run: Recorded): Promise<Argument[]> {
  const signals = (await eventsOf(run)).flatMap((event) => event.workflowExecutionSignaledEventAttributes ?? []);
  return signals.flatMap(({ input }) => valuesIn(input).slice(0, 1) as Argument[]);
}

/** Resolves once lists, which are a moment late, show a run of each id in this state. */
export const areListed = ({ workflow }: Client, state: string, ids: readonly string[]): Promise<void> =>
  vi.waitFor(async () => {
    const query = `WorkflowId IN (${ids.map((id) => `'${id}'`).join(', ')}) AND ExecutionStatus = '${state}'`;
    expect((await workflow.count(query)).count).toBeGreaterThanOrEqual(ids.length);
  }, patient);

/** The activities of a run that have not ended yet. */
export const pendingOf = async (run: Described) =>
  ((await run.describe()).raw.pendingActivities ?? []).map(({ activityType, attempt, state, lastFailure }) => ({
    ...{ name: activityType?.name, attempt: attempt ?? 0, state, failure: lastFailure?.message ?? '' },
  }));

/** Resolves once this activity of a run is under way, or waits for its next attempt. */
export const isPending = (run: Described, name: string): Promise<void> =>
  vi.waitFor(async () => expect((await pendingOf(run)).map((one) => one.name)).toContain(name), patient);

/** Resolves once an attempt of this activity has failed, so that it stays pending until its next attempt. */
export const isFailing = (run: Described, name: string): Promise<void> =>
  vi.waitFor(async () => {
    const failed = (await pendingOf(run)).filter(({ failure }) => failure !== '');
    expect(failed.map((one) => one.name)).toContain(name);
  }, patient);

/** Has the watch of the account taken the order of this run? */
export const isWatched = async (run: Described): Promise<boolean> =>
  (await pendingOf(run)).some(({ name, state }) => name === 'nextReading' && state === startedState);

// temporal.api.enums.v1.PendingActivityState
const startedState = 2;

/** What the watch of the account has told this run. */
export async function findingsOf(run: Recorded): Promise<unknown[]> {
  const events = await eventsOf(run);
  return events.flatMap(({ activityTaskCompletedEventAttributes: done }) => {
    const of = done && events[Number(done.scheduledEventId) - 1]?.activityTaskScheduledEventAttributes;
    return of?.activityType?.name === 'nextReading' ? valuesIn(done?.result) : [];
  });
}

/** The value of a search attribute; null: it has none. */
export const attributeOf = async (run: Described, name: string): Promise<unknown> =>
  (await run.describe()).searchAttributes[name]?.[0] ?? null;

/** Resolves once another run of the workflow has begun than the one that was started. */
export const continued = (
  run: Described & ({ firstExecutionRunId: string } | { signaledRunId: string }),
): Promise<void> => {
  const first = 'signaledRunId' in run ? run.signaledRunId : run.firstExecutionRunId;
  return vi.waitFor(async () => expect((await run.describe()).runId).not.toBe(first), patient);
};

/** What the UI shows of a run, as Markdown. */
export const detailsOf = async (run: Pick<WorkflowHandle, 'query'>): Promise<string> =>
  (await run.query<{ currentDetails: string }>('__temporal_workflow_metadata')).currentDetails;

/** The histories of a workflow and of all runs that it continues, newest first, each as the list of its events. */
export async function runsOf({ workflow }: Client, workflowId: string): Promise<unknown[][]> {
  const runs: unknown[][] = [];
  const { runId: newest } = await workflow.getHandle(workflowId).describe();
  for (let runId: string | null | undefined = newest; runId; ) {
    const events = await eventsOf(workflow.getHandle(workflowId, runId));
    runs.push(events);
    runId = events[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId;
  }
  return runs;
}

/** Rejects with `InvalidInput` and names what is wrong: of a run, or of an update. */
export const refusesInput = (act: Promise<unknown>, naming = ''): Promise<void> =>
  expect(act).rejects.toMatchObject({ cause: { type: 'InvalidInput', message: expect.stringContaining(naming) } });

const completeRun = 4; // COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION

/** A run of `followOrder` that has ended with this result, without a worker. */
export async function endedWith(
  client: Client,
  workflowId: string,
  result: object,
  encode = async (payload: Payload): Promise<Payload[]> => [payload],
): Promise<void> {
  const taskQueue = `unserved-${randomUUID()}`;
  await client.workflow.start('followOrder', { workflowId, taskQueue });
  const here = { namespace: 'default', identity: 'test' };
  const { taskToken } = await client.withDeadline(Date.now() + 60_000, () =>
    client.workflowService.pollWorkflowTaskQueue({ ...here, taskQueue: { name: taskQueue } }),
  );
  const payloads = await encode(defaultPayloadConverter.toPayload(result));
  const completeWorkflowExecutionCommandAttributes = { result: { payloads } };
  const commands = [{ commandType: completeRun, completeWorkflowExecutionCommandAttributes }];
  await client.workflowService.respondWorkflowTaskCompleted({ ...here, taskToken, commands });
  expect(await client.workflow.getHandle(workflowId).describe()).toMatchObject({ status: { name: 'COMPLETED' } });
}
