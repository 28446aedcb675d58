import { readFile } from 'node:fs/promises';
import { expect, inject, it, vi } from 'vitest';
import { useOrderStack } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';
import { eventsOf } from '../../support/runs.js';
import { subscribe, webhookEnv } from '../../support/subscription/subscriptions.js';

const readCode = () => readFile(inject('workflowBundlePath'), 'utf8');
const workflowBundle = { code: '' };
const stack = useOrderStack(async () => {
  workflowBundle.code = await readCode();
  return { env: webhookEnv({ managing: true }), workflowBundle };
});

async function worksWith(code: string): Promise<void> {
  await stack.stopWorker();
  workflowBundle.code = code;
  await stack.startWorker();
}

const bugs = [
  ['reads an answer', /function withSubscriber\(.*\{$/m, '$& null.bug;', 'rotateSubscription'],
  ['asks the service', /(?<=createSubscriber\(\{[^}]*) generation,/, '$& bug: null.bug,', 'rotateSubscription'],
  ['removes a subscriber', /(?<=removeSubscriber\(\{[^}]*) generation,/, '$& bug: null.bug,', 'endSubscription'],
] as const;

it.each(bugs)('a bug where a subscription %s touches nothing, and ends with the bug', async (_, where, bug, update) => {
  const run = await subscribe(stack);
  await run.active();
  const [accepted] = await run.accepted();
  const subscribers = stack.sandbox.subscribers();
  const code = await readCode();
  const wrong = code.replace(where, bug);
  expect(wrong).not.toBe(code);
  await worksWith(wrong);
  const args: [object] = [update === 'endSubscription' ? { reason: 'done' } : {}];
  const answer = run.handle.executeUpdate<unknown, [object]>(update, { args });
  answer.catch(() => undefined); // where the run has ended
  await vi.waitFor(async () => {
    const failed = (await eventsOf(run.handle)).some((event) => event.workflowTaskFailedEventAttributes);
    const { raw, status } = await run.handle.describe();
    expect(failed || (raw.pendingWorkflowTask?.attempt ?? 0) > 1 || status.name !== 'RUNNING').toBe(true);
  }, patient);
  expect(await run.accepted()).toContainEqual(accepted);
  expect(stack.sandbox.subscribers()).toEqual(expect.arrayContaining(subscribers));
  await worksWith(code);
  await answer;
  const standing = { rotateSubscription: ['RUNNING', 2], endSubscription: ['COMPLETED', 0] }[update];
  await vi.waitFor(async () => {
    expect([(await run.handle.describe()).status.name, (await run.accepted()).length]).toEqual(standing);
  }, patient);
  await run.handle.terminate().catch(() => undefined);
});
