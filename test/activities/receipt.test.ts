import { expect, it } from 'vitest';
import { createReceiptActivities, type ReceiptActivities } from '../../src/activities/receipt.js';
import { InvalidInput } from '../../src/domain/errors.js';
import type { FailureStreak } from '../../src/domain/failure-streak.js';
import { toOrderId } from '../../src/domain/keys.js';
import type { ReceiptLookInput } from '../../src/domain/report.js';
import { account } from './attempts.js';
import { apiError, fakeRideApi, nextOf } from './service.js';
import { attemptOnce, iso, minute, repeatAttempts, start } from './temporal.js';

const receipt = { payment_summary: { total_inc_tax: '22.00' } };
const day = 24 * 60 * minute;
const lookAt = (more: Partial<ReceiptLookInput> = {}): ReceiptLookInput => ({
  account: account.name,
  orderId: toOrderId('4711'),
  shown: null,
  notBefore: null,
  ...more,
});

/** Temporal and the service, as far as the activities see them. */
function createStage(...answers: (Error | typeof receipt)[]) {
  const stage = { now: start, asked: [] as number[], run };
  const activities = createReceiptActivities({
    account: () => account,
    rideApi: fakeRideApi({
      async readReceipt() {
        stage.asked.push(stage.now);
        return nextOf(answers);
      },
    }),
    call: (_account, _scope, send) => send('token'),
    now: () => stage.now,
    random: () => 0,
  });

  async function run(
    name: keyof ReceiptActivities,
    more: Partial<ReceiptLookInput> = {},
    heartbeatDetails?: Partial<FailureStreak>,
  ) {
    const attempt = () => activities[name](lookAt(more));
    const limits = { untilMs: day, heartbeatDetails };
    const attempts = await repeatAttempts(stage, limits, (info) => attemptOnce(info, attempt));
    return { seen: attempts.at(-1)?.seen, failures: attempts.flatMap(({ failure }) => failure ?? []) };
  }

  return stage;
}

it('a read gives the receipt as it came', async () => {
  const { seen } = await createStage(receipt).run('readReceipt');
  expect(seen).toEqual({ kind: 'receipt', receipt, at: iso(start), reads: 1 });
});

it('a read looks for two minutes for a receipt that the service does not have yet, then says so', async () => {
  const stage = createStage(apiError('ORDER_UNKNOWN'));
  const { seen, failures } = await stage.run('readReceipt');
  const message = expect.stringMatching(/no receipt of this order yet, or operations\.orderReceipt\.path/);
  expect(seen).toMatchObject({ kind: 'trouble', trouble: { code: 'notReady', since: iso(start), message } });
  expect(stage.now - start).toBeGreaterThanOrEqual(2 * minute);
  expect(stage.now - start).toBeLessThan(3 * minute);
  expect(failures.length).toBeLessThan(20);
});

it.each([
  [apiError('FORBIDDEN'), 'forbidden', '', 1],
  [apiError('TOKEN_REJECTED'), 'credentialsRejected', '', 1],
  [new InvalidInput('orderReceipt: not an operation of the partner interface'), 'notOffered', 'partner', 60],
])('a read says at once what a person must repair: %s', async (error, code, words, minutes) => {
  const stage = createStage(error);
  const { seen } = await stage.run('readReceipt');
  const trouble = { code, message: expect.stringContaining(words) };
  expect(seen).toMatchObject({ trouble, notBefore: iso(start + minutes * minute) });
  expect(stage.asked).toEqual([start]);
});

it('a read answers its caller with the trouble that the run shows already', async () => {
  const { seen } = await createStage(apiError('FORBIDDEN')).run('readReceipt', { shown: 'forbidden' });
  expect(seen).toMatchObject({ trouble: { code: 'forbidden' }, notBefore: iso(start + minute) });
});

it.each([
  [minute, null, 1],
  [day, 'upstreamUnavailable', 10],
  [day, 'notReady', 11],
  [day, 'forbidden', 66],
] as const)('a look told to wait %i ms while the run shows %s waits %i minutes', async (waitMs, shown, minutes) => {
  const stage = createStage(receipt);
  await stage.run('awaitReceipt', { shown, notBefore: iso(start + waitMs) });
  expect(stage.asked).toEqual([start + minutes * minute]);
});

it.each([
  ['notReady', apiError('ORDER_UNKNOWN'), 10],
  ['forbidden', apiError('FORBIDDEN'), 60],
  ['credentialsRejected', apiError('TOKEN_REJECTED'), 1],
] as const)('a look asks slowly for the receipt while the run shows %s', async (shown, error, everyMinutes) => {
  const stage = createStage(error, error, error, receipt);
  const { seen, failures } = await stage.run('awaitReceipt', { shown });
  expect(seen).toMatchObject({ kind: 'receipt', reads: 4 });
  expect(stage.asked).toEqual([0, 1, 2, 3].map((times) => start + times * everyMinutes * minute));
  expect(failures.map(({ type, category }) => `${type} ${category}`)).toEqual(Array(3).fill('NotYet BENIGN'));
});

it('a look asks ever more seldom for a receipt that stays away', async () => {
  const error = apiError('ORDER_UNKNOWN');
  const stage = createStage(...Array(10).fill(error), receipt);
  await stage.run('awaitReceipt', { shown: 'notReady' });
  const waits = stage.asked.slice(1).map((at, look) => (at - (stage.asked[look] ?? 0)) / minute);
  expect(waits).toEqual([10, 10, 10, 10, 10, 10, 20, 40, 80, 160]);
});

it('a look shows other trouble than the run does, with patience of its own', async () => {
  const stage = createStage(apiError('FORBIDDEN'), apiError('UPSTREAM_FAILED'));
  const { seen } = await stage.run('awaitReceipt', { shown: 'forbidden' });
  expect(seen).toMatchObject({ trouble: { code: 'upstreamUnavailable', since: iso(start + 60 * minute) } });
  expect(stage.now - start).toBe(65 * minute);
});

it('a look forgets a short outage that ended in the trouble shown', async () => {
  const stage = createStage(apiError('UPSTREAM_FAILED'), apiError('FORBIDDEN'), apiError('UPSTREAM_FAILED'), receipt);
  const { seen } = await stage.run('awaitReceipt', { shown: 'forbidden' });
  expect(seen).toMatchObject({ kind: 'receipt' });
});
