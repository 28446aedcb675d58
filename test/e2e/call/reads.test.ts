import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type CallInput, createFaretrailClient, type FaretrailClient } from '../../../src/client/index.js';
import { toAccountName, toOrderId } from '../../../src/domain/keys.js';
import { useOrderStack } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';

const account = toAccountName('business');
const stack = useOrderStack();
let rides: FaretrailClient;
beforeAll(() => {
  rides = createFaretrailClient({ client: stack.client, taskQueue: stack.config.taskQueue });
});
afterEach(() => stack.sandbox.clearFaults());

const newRead = () => ({
  ...{ account, operation: 'orderDetails' as const, key: randomUUID() },
  orderId: toOrderId(stack.newOrder('business', [['Driving', 0]])),
});
type NewRead = ReturnType<typeof newRead>;

const workflowOf = ({ key }: NewRead) => stack.client.workflow.getHandle(`call/business/orderDetails/${key}`);
const requestsOf = ({ orderId }: NewRead) => stack.sandbox.ledger({ operation: 'orderDetails', orderId }).length;

describe('a read', () => {
  it('of the same key joins the one under way, and gets the outcome of the ended one: one request in all', async () => {
    const read = newRead();
    const [one, two] = await Promise.all([rides.call(read), rides.call(read)]);
    expect(two).toEqual(one);
    stack.sandbox.setStatus('business', read.orderId, 'Completed');
    expect(await rides.call(read)).toEqual(one);
    expect(requestsOf(read)).toBe(1);
    const unknown = { ...newRead(), orderId: 'never-made' };
    const failed = await rides.call(unknown).catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: 'OrderNotFound' });
    await expect(rides.call(unknown)).rejects.toMatchObject({ message: (failed as Error).message });
  });

  it.each<[what: string, code: string, more: () => Partial<CallInput>, disturb?: () => void]>([
    ['an unknown order', 'OrderNotFound', () => ({ orderId: 'never-made' })],
    [
      'a refusal of the account',
      'Forbidden',
      () => ({}),
      () => stack.sandbox.setFault({ kind: 'forbidden', times: 1 }),
    ],
    ['a body that is none', 'InvalidInput', () => ({ operation: 'products', orderId: undefined, body: {} })],
    ['an account at the other interface', 'InvalidInput', () => ({ account: 'partner' })],
  ])('fails by code: %s is %s', async (_, code, more, disturb = () => undefined) => {
    const input = { ...newRead(), ...more() } as CallInput;
    disturb();
    await expect(rides.call(input)).rejects.toMatchObject({ code });
  });

  it('that an operator ends says so by code', async () => {
    const reads = [newRead(), newRead()];
    for (const { orderId } of reads) stack.sandbox.setFault({ kind: 'serverError', orderId });
    const calls = reads.map((read) => rides.call(read));
    for (const call of calls) call.catch(() => undefined);
    await vi.waitFor(() => expect(reads.map(requestsOf)).not.toContain(0), patient);
    const [first, second] = reads.map(workflowOf);
    await first?.terminate('by an operator');
    await second?.cancel();
    await expect(calls[0]).rejects.toMatchObject({ code: 'Terminated' });
    await expect(calls[1]).rejects.toMatchObject({ code: 'Cancelled' });
  });
});
