import { expect, inject, it, vi } from 'vitest';
import { runHere } from '../cli/fake-process.js';
import { shows, startFollowing } from '../support/order/stack.js';
import { patient } from '../support/patience.js';
import { useStoreStack } from '../support/store/stack.js';

const { postgres, stack } = useStoreStack();

const told = async (...args: string[]) =>
  JSON.parse((await runHere([...args, '--json'], { TEMPORAL_ADDRESS: inject('temporalAddress') })).stdout);

it('a change that the store refuses needs a person, holds up no other, and is written once it is sent again', async () => {
  const orderId = stack.newOrder('business', [['Pending', 0]]);
  const run = await startFollowing(stack, { account: 'business', orderId });
  await shows(run, { status: 'Pending' });
  await vi.waitFor(async () => expect(await postgres.rows('select from faretrail.orders')).toHaveLength(1), patient);
  await postgres.rows(`alter table faretrail.order_changes add constraint ours check (status <> 'Routing')`);
  for (const word of ['Routing', 'Driving', 'Completed']) {
    stack.sandbox.setStatus('business', orderId, word);
    await shows(run, { status: word });
  }
  await run.result();
  const rows = async () =>
    (await postgres.rows('select status from faretrail.order_changes order by position')).map(({ status }) => status);
  await vi.waitFor(async () => expect(await rows()).toEqual(['Pending', 'Driving', 'Completed']), patient);

  // Tests beside this one leave notices, too.
  const isOurs = ({ id }: { id: string }): boolean => id.includes(orderId);
  const notices = async () =>
    (await told('attention', '--limit', '1000')).runs.filter(
      (run: { kind: string; id: string }) => run.kind === 'notices' && isOurs(run),
    );
  await vi.waitFor(async () => expect(await notices()).toHaveLength(1), patient);
  expect(await notices()).toMatchObject([
    {
      ...{ account: 'business', code: 'refused', message: expect.stringMatching(/^The store refuses changes.*: 1\./) },
      id: expect.stringContaining(`order/business/${orderId}/`),
    },
  ]);
  const listed = (await told('notice', 'list')).notices.filter(isOurs);
  expect(listed).toMatchObject([{ to: 'the store', reason: 'refused', type: 'order.changed' }]);

  await postgres.rows('alter table faretrail.order_changes drop constraint ours');
  await told('notice', 'resend', listed[0].id);
  await vi.waitFor(async () => expect(await rows()).toEqual(['Pending', 'Driving', 'Completed', 'Routing']), patient);
  expect(await postgres.rows('select status, outcome, changes from faretrail.orders')).toEqual([
    { status: 'Completed', outcome: 'completed', changes: 4 },
  ]);
  await vi.waitFor(async () => expect(await notices()).toEqual([]), patient);
}, 180_000);
