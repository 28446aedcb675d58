import type { Client } from '@temporalio/client';
import { expect, it } from 'vitest';
import { decisionsText } from '../../src/cli/runs.js';
import { readDecisions } from '../../src/temporal/decisions.js';

it('whom the authorizer of the server has seen is shown beside the name that anybody may write', async () => {
  const eventTime = { seconds: 0, nanos: 0 };
  const attributes = { identity: 'anna' };
  const events = [
    { eventTime, workflowExecutionStartedEventAttributes: attributes, principal: { type: 'jwt', name: 'ben' } },
    { eventTime, workflowExecutionCancelRequestedEventAttributes: attributes },
  ];
  const handle = { fetchHistory: async () => ({ events }) };
  const client = { workflow: { getHandle: () => handle }, withDeadline: (_: number, call: () => unknown) => call() };
  const decisions = await readDecisions(client as unknown as Client, 'order/business/1', 1_000);
  expect(decisions.map(({ by, principal }) => [by, principal])).toEqual([
    ['anna', 'ben'],
    ['anna', null],
  ]);
  expect(decisionsText(decisions, (_, text) => text)).toContain('start by anna (proved: ben)\n');
});
