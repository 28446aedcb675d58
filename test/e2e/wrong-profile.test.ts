import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import type { FaultInput } from '../../dev/sandbox/faults.js';
import { rideStatuses } from '../../src/domain/order/status.js';
import { workerEnv } from '../support/accounts.js';
import { deliver, deliveryOf } from '../support/delivery/deliveries.js';
import { jsonFile } from '../support/json-file.js';
import { isLong } from '../support/long.js';
import { type FollowHandle, shows, startOrderStack, trailOf, useOrderStack } from '../support/order/stack.js';
import { lifeOf, type RideRun, requestedRide, standingOf, stands } from '../support/ride/rides.js';
import { type Guess, type GuessedOperation, guessesFor, wrongProfile } from '../support/wrong-guesses.js';

// An operator's first day: the profile has a wrong path, orders, rides and deliveries come, and then the profile is repaired.

const shared = {
  FARETRAIL_TASK_QUEUE: `q-${randomUUID()}`,
  FARETRAIL_SEALING_KEYS: `k1:${randomBytes(32).toString('base64url')}`,
};
const path = '/v9/orders/{order_id}?businessId={business_id}';
const file = jsonFile({ operations: { orderDetails: { path } } });
const wrong = useOrderStack({ env: { ...shared, FARETRAIL_CONTRACT_FILE: file } });

/** A 404 is shown after two minutes, so the short form ends before that. */
const [orders, rides, wrongForMs, everyMs] = isLong ? [20, 5, 3_600_000, 5_000] : [8, 3, 3_000, 500];
const times = <T>(count: number, make: () => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, make));

it('a wrong path costs nothing: orders and rides wait, and go on by themselves once the profile is right', {
  timeout: isLong ? 4_500_000 : 300_000,
}, async () => {
  wrong.sandbox.setRideSettings({ script: lifeOf(['Pending', 'Routing']) });
  const followed = await times(orders, async () => {
    const orderId = wrong.newOrder('business', [['Confirmed', 0]]);
    return { orderId, handle: await wrong.follow('business', orderId) };
  });
  const booked = await times(rides, () => requestedRide(wrong));
  for (const { handle } of booked) await stands(handle, { stage: 'following', attention: null });

  const words = rideStatuses.filter((status) => status !== 'Confirmed' && status !== 'Completed');
  const claims = new Set<string>();
  for (const end = Date.now() + wrongForMs; Date.now() < end; await sleep(everyMs)) {
    const claim = words[claims.size % words.length] ?? '';
    claims.add(claim);
    await Promise.all(followed.map(({ handle }) => deliver(handle, deliveryOf(claim))));
  }
  if (isLong) {
    const attention = { code: 'orderNotFound', message: expect.stringContaining('operations.orderDetails.path') };
    for (const { handle } of followed) await shows(handle, { attention });
  }
  for (const { handle } of followed) expect((await trailOf(handle)).status).toBeNull();

  const right = await startOrderStack({ env: { ...workerEnv(wrong.sandbox.url), ...shared } });
  onTestFinished(() => right.close());
  await wrong.stopWorker();
  // An order in attention is looked for again within 66 s.
  if (isLong) await sleep(66_000);
  for (const { handle } of followed) await shows(handle, { status: 'Confirmed', attention: null });
  for (const { orderId } of followed) wrong.sandbox.setStatus('business', orderId, 'Completed');
  const made = wrong.sandbox.createdOrders();
  for (const { orderId } of made) wrong.sandbox.setStatus('business', orderId, 'Completed');

  const ends = await Promise.all(followed.map(({ handle }: { handle: FollowHandle }) => handle.result()));
  for (const { outcome, timeline } of ends) {
    expect(outcome).toBe('completed');
    const claimed = timeline.filter(({ source }) => source === 'delivery').map(({ rawStatus }) => rawStatus);
    expect(new Set(claimed)).toEqual(claims);
  }
  for (const { handle } of booked) expect(await handle.result()).toMatchObject({ outcome: 'completed' });
  expect(made, 'one order for each ride').toHaveLength(rides);
});

const fieldsOf = (operation: GuessedOperation) =>
  // A scope that may not read is asked again after a minute.
  Object.entries(guessesFor(operation)).filter(([field]) => operation === 'createOrder' || !field.endsWith('scope'));
const someGuesses = (operation: GuessedOperation) =>
  fc
    .subarray(fieldsOf(operation))
    .chain((fields) => fc.tuple(...fields.map(([, wrongs]) => fc.constantFrom(...wrongs))))
    .map((guesses: Guess[]) => wrongProfile(operation, guesses));

/** What leaves a create in doubt, and a read without an answer. */
const lostOrBroken: FaultInput[] = [
  { kind: 'dropConnection', when: 'answer' },
  { kind: 'dropConnection', when: 'middle' },
  { kind: 'serverError' },
  { kind: 'unavailable', when: 'answer' },
  { kind: 'html', when: 'answer' },
  { kind: 'malformedJson' },
];

const situations = fc.record({
  reads: someGuesses('orderDetails'),
  creates: someGuesses('createOrder'),
  fault: fc.constantFrom(...lostOrBroken),
  at: fc.constantFrom('orderDetails', 'createOrder'),
  repairAfterMs: fc.integer({ min: 0, max: 1_500 }),
});

type Situation = typeof situations extends fc.Arbitrary<infer S> ? S : never;

/** Ends a ride whatever became of its create; gives how its run ended. */
async function ended({ handle }: { handle: RideRun }, made: () => { orderId: string }[]): Promise<'done' | 'failed'> {
  const end = handle.result().then(
    () => 'done' as const,
    () => 'failed' as const,
  );
  const settled = async (): Promise<boolean> => {
    const { stage, attention } = await standingOf(handle);
    return stage !== 'requesting' || attention?.code === 'outcomeUnknown';
  };
  await expect.poll(settled).toBe(true);
  if ((await standingOf(handle)).attention?.code === 'outcomeUnknown') {
    const [order] = made();
    const resolution = order ? { orderId: order.orderId } : { giveUp: true, reason: 'no order was made' };
    await handle.executeUpdate('resolveRide', { args: [resolution as never] });
  }
  for (const { orderId } of made()) wrong.sandbox.setStatus('business', orderId, 'Completed');
  return await end;
}

it('whatever is wrong in the profile, whatever fault comes, whenever it is repaired: nothing is lost, stuck or booked twice', {
  timeout: isLong ? 3_600_000 : 600_000,
}, async () => {
  wrong.sandbox.setRideSettings({ script: lifeOf(['Pending', 'Routing']), forgetsRequestIds: true });
  const onSandbox = (profile: object) => ({
    env: { ...workerEnv(wrong.sandbox.url), ...shared, FARETRAIL_CONTRACT_FILE: jsonFile(profile) },
  });
  const goThrough = async ({ reads, creates, fault, at, repairAfterMs }: Situation): Promise<void> => {
    const before = wrong.sandbox.createdOrders().length;
    const made = () => wrong.sandbox.createdOrders().slice(before);
    const guessing = await startOrderStack(
      onSandbox({
        operations: { ...reads.operations, ...creates.operations },
        pointers: { ...reads.pointers, ...creates.pointers },
      }),
    );
    wrong.sandbox.setFault({ ...fault, operation: at, times: 1 });
    const orderId = wrong.newOrder('business', [['Confirmed', 0]]);
    const handle = await wrong.follow('business', orderId);
    const ride = await requestedRide(wrong);
    await deliver(handle, deliveryOf('Waiting'));
    await sleep(repairAfterMs);
    const right = await startOrderStack(onSandbox({}));
    await guessing.close();
    wrong.sandbox.setStatus('business', orderId, 'Completed');
    const { outcome, timeline } = await handle.result();
    expect(outcome).toBe('completed');
    expect(timeline.map(({ rawStatus }) => rawStatus)).toContain('Waiting');
    const end = await ended(ride, made);
    expect(made().length, `orders of a ride that is ${end}`).toBe(end === 'done' ? 1 : 0);
    wrong.sandbox.clearFaults();
    await right.close();
  };
  await wrong.stopWorker();
  await fc.assert(fc.asyncProperty(situations, goThrough), { numRuns: isLong ? 200 : 4, endOnFailure: true });
});
