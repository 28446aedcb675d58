import { expect, it } from 'vitest';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import { searchAttributeNames } from '../../src/domain/search-attribute-names.js';
import { followOrderId } from '../../src/domain/workflow-ids.js';
import { rideAccountKey } from '../../src/workflows/search-attributes.js';
import { startCall } from '../support/call/calls.js';
import { deliveryOf, newReport, portOf } from '../support/delivery/deliveries.js';
import { useOrderStack } from '../support/order/stack.js';
import { attributeOf, eventsOf, isWatched } from '../support/runs.js';

const stack = useOrderStack();

const account = toAccountName('business');

/** What the start of each run of the account says, by the type of the run. */
async function startsByType() {
  const { workflow } = stack.client;
  const starts: Record<string, { key: string; first: number }> = {};
  const query = `TaskQueue = '${stack.config.taskQueue}' AND RideAccount = '${account}'`;
  for await (const { type, workflowId, runId } of workflow.list({ query })) {
    const [started] = await eventsOf(workflow.getHandle(workflowId, runId));
    const { priority } = started?.workflowExecutionStartedEventAttributes ?? {};
    starts[type] = { key: priority?.fairnessKey ?? '', first: priority?.priorityKey ?? 0 };
  }
  return starts;
}

it('each run belongs to its account where the server shares workers fairly, and leases still go first', async () => {
  const orderId = toOrderId(stack.newOrder('business', [['Driving', 0]]));
  const port = portOf(stack);
  await port.toOrder({ account, orderId }, [deliveryOf('Driving')]);
  const run = stack.client.workflow.getHandle(followOrderId({ account, orderId }));
  await expect.poll(() => isWatched(run)).toBe(true);
  await port.toReport({ account, about: orderId }, [newReport()]);
  await startCall(stack, 'companySettings');
  const ofAccount = { key: account, first: 0 };
  await expect.poll(startsByType).toEqual({
    accessToken: { key: account, first: 1 },
    accountWatch: ofAccount,
    businessCall: ofAccount,
    companyReport: ofAccount,
    followOrder: ofAccount,
  });
});

it.each([
  ['writes its account', [], 1],
  ['does not write an account that its start names', [{ key: rideAccountKey, value: account }], 0],
])('a run that a plain client starts %s', async (_, typedSearchAttributes, writes) => {
  const key = { account, orderId: toOrderId(stack.newOrder('business', [['Driving', 0]])) };
  const { taskQueue } = stack.config;
  const options = { workflowId: followOrderId(key), taskQueue, args: [key], typedSearchAttributes };
  const run = await stack.client.workflow.start('followOrder', options);
  await expect.poll(() => isWatched(run)).toBe(true);
  const written = (await eventsOf(run)).flatMap(
    ({ upsertWorkflowSearchAttributesEventAttributes: upsert }) => upsert?.searchAttributes?.indexedFields ?? {},
  );
  expect(written.filter((fields) => searchAttributeNames.account in fields)).toHaveLength(writes);
  expect(await attributeOf(run, searchAttributeNames.account)).toBe(account);
});
