import type { Info } from '@temporalio/activity';
import { describe, expect, it } from 'vitest';
import { createReceiptActivities, type ReceiptActivities } from '../../src/activities/receipt.js';
import { InvalidInput } from '../../src/domain/errors.js';
import { toOrderId } from '../../src/domain/keys.js';
import type { ReceiptLookInput } from '../../src/domain/report.js';
import { RideApiUnreachable } from '../../src/ride-api/errors.js';
import { apiError } from './api-errors.js';
import { account, iso, start } from './attempts.js';
import { attemptOnce, repeatAttempts } from './temporal.js';

const receipt = { payment_summary: { total_inc_tax: '22.00' } };
const minute = 60_000;

const lookAt = (more: Partial<ReceiptLookInput> = {}): ReceiptLookInput => ({
  account: account.name,
  orderId: toOrderId('4711'),
  shown: null,
  notBefore: null,
  ...more,
});

/** Temporal and the service, as far as the activities see them. The last answer goes on for ever. */
function createStage(...answers: (Error | typeof receipt)[]) {
  const stage = { now: start, asked: [] as number[], run, answers };
  const activities = createReceiptActivities({
    account: () => account,
    async readReceipt() {
      stage.asked.push(stage.now);
      const next = stage.answers.length > 1 ? stage.answers.shift() : stage.answers[0];
      if (next instanceof Error) throw next;
      return next ?? receipt;
    },
    now: () => stage.now,
    random: () => 0,
  });

  async function run(name: keyof ReceiptActivities, input: ReceiptLookInput, untilMs = 24 * 60 * minute) {
    const attempt = (info: Partial<Info>) => attemptOnce(info, () => activities[name](input));
    const attempts = await repeatAttempts(stage, { untilMs }, attempt);
    return { seen: attempts.at(-1)?.seen, failures: attempts.flatMap(({ failure }) => failure ?? []) };
  }

  return stage;
}

describe('a look at a receipt', () => {
  it('gives it as it came', async () => {
    const { seen } = await createStage(receipt).run('readReceipt', lookAt());
    expect(seen).toEqual({ kind: 'receipt', receipt, at: iso(start), reads: 1 });
  });

  it('looks for two minutes for one that is not there yet, then says so', async () => {
    const stage = createStage(apiError('ORDER_UNKNOWN'));
    const { seen, failures } = await stage.run('readReceipt', lookAt());
    expect(seen).toMatchObject({ kind: 'trouble', trouble: { code: 'notReady', since: iso(start) } });
    expect(stage.now - start).toBeGreaterThanOrEqual(2 * minute);
    expect(stage.now - start).toBeLessThan(3 * minute);
    expect(failures.length).toBeLessThan(20);
  });

  it('has five minutes of patience with an outage', async () => {
    const outage = createStage(new RideApiUnreachable('CONNECTION_REFUSED', 'https://service.example'));
    const { seen } = await outage.run('readReceipt', lookAt());
    expect(seen).toMatchObject({ trouble: { code: 'upstreamUnavailable' } });
    expect(outage.now - start).toBeGreaterThanOrEqual(5 * minute);
  });

  it.each([
    [apiError('FORBIDDEN'), 'forbidden', ''],
    [apiError('TOKEN_REJECTED'), 'credentialsRejected', ''],
    [new InvalidInput('orderReceipt: not an operation of the partner interface'), 'notOffered', 'partner'],
  ])('says at once what a person must repair, and where there are no receipts: %s', async (error, code, words) => {
    const stage = createStage(error);
    const { seen } = await stage.run('readReceipt', lookAt());
    expect(seen).toMatchObject({ trouble: { code, message: expect.stringContaining(words) } });
    expect(stage.asked).toEqual([start]);
  });

  it('answers who waits for it with the trouble that is shown already', async () => {
    const stage = createStage(apiError('FORBIDDEN'));
    const { seen } = await stage.run('readReceipt', lookAt({ shown: 'forbidden' }));
    expect(seen).toMatchObject({ trouble: { code: 'forbidden' }, notBefore: iso(start + minute) });
  });

  it('keeps to the wait that it is given', async () => {
    const stage = createStage(receipt);
    await stage.run('readReceipt', lookAt({ notBefore: iso(start + minute) }));
    expect(stage.asked).toEqual([start + minute]);
  });

  it.each([
    ['upstreamUnavailable', 10],
    ['notReady', 11],
    ['forbidden', 66],
  ] as const)('keeps to no longer one than ten minutes or its own pause: %s', async (shown, minutes) => {
    const stage = createStage(receipt);
    await stage.run('awaitReceipt', lookAt({ shown, notBefore: iso(start + 24 * 60 * minute) }));
    expect(stage.asked).toEqual([start + minutes * minute]);
  });

  it('shows at once until when a long wait that the service asks for lasts', async () => {
    const stage = createStage(apiError('UPSTREAM_FAILED', 599));
    const trouble = { code: 'upstreamUnavailable', message: expect.stringContaining('until 2031-05-01 10:09:59 UTC') };
    const { seen } = await stage.run('readReceipt', lookAt());
    expect(seen).toMatchObject({ trouble, notBefore: iso(start + 599_000) });
    expect(stage.asked).toEqual([start]);
  });

  it.each(['readReceipt', 'awaitReceipt'] as const)('asks no more often when told not to wait (%s)', async (name) => {
    const times = async (wish?: number) => {
      const stage = createStage(apiError('UPSTREAM_FAILED', wish));
      const { failures } = await stage.run(name, lookAt(), 4 * minute);
      expect(failures.at(-1)?.stack).toBe('');
      return stage.asked.length;
    };
    expect(await times(0)).toBe(await times());
  });
});

describe('a look that goes on', () => {
  it.each([
    ['notReady', apiError('ORDER_UNKNOWN'), 10],
    ['forbidden', apiError('FORBIDDEN'), 60],
    ['credentialsRejected', apiError('TOKEN_REJECTED'), 1],
  ] as const)('asks slowly while %s is shown, until the receipt is there', async (shown, error, everyMinutes) => {
    const stage = createStage(error, error, error, receipt);
    const { seen, failures } = await stage.run('awaitReceipt', lookAt({ shown }));
    expect(seen).toMatchObject({ kind: 'receipt', reads: 4 });
    expect(stage.asked).toEqual([0, 1, 2, 3].map((times) => start + times * everyMinutes * minute));
    expect(failures.map(({ type, category }) => `${type} ${category}`)).toEqual(Array(3).fill('NotYet BENIGN'));
  });

  it('waits as long as the service asks for, also while that is shown', async () => {
    const stage = createStage(apiError('UPSTREAM_FAILED', 599), receipt);
    await stage.run('awaitReceipt', lookAt({ shown: 'upstreamUnavailable' }));
    expect(stage.asked).toEqual([start, start + 599_000]);
  });

  it('tells of another trouble, with patience of its own', async () => {
    const stage = createStage(apiError('FORBIDDEN'), apiError('UPSTREAM_FAILED'));
    const { seen } = await stage.run('awaitReceipt', lookAt({ shown: 'forbidden' }));
    expect(seen).toMatchObject({ trouble: { code: 'upstreamUnavailable', since: iso(start + 60 * minute) } });
  });

  it('forgets a short outage that ended in the trouble shown', async () => {
    const stage = createStage(apiError('UPSTREAM_FAILED'), apiError('FORBIDDEN'), apiError('UPSTREAM_FAILED'), receipt);
    const { seen } = await stage.run('awaitReceipt', lookAt({ shown: 'forbidden' }));
    expect(seen).toMatchObject({ kind: 'receipt' });
  });
});
