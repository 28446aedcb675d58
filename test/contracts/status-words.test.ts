import { describe, expect, it } from 'vitest';
import { defaultContractProfile, parseContractProfile } from '../../src/contracts/default-contract-profile.js';
import { createDeliveryReader } from '../../src/contracts/delivery-body.js';
import { parseOrderReply } from '../../src/contracts/order-reply.js';
import { likelyStatus } from '../../src/contracts/status-words.js';
import type { Account } from '../../src/domain/account.js';
import { InvalidInput } from '../../src/domain/errors.js';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import { nextReadMs } from '../../src/domain/order/cadence.js';
import { concernIn, defaultWatch, isNews } from '../../src/domain/order/concern.js';
import { rideStatuses } from '../../src/domain/order/status.js';

const words = {
  ...{ REQUESTED: 'Pending', 'With Agent': 'CareReq', planned: 'Reserved', rolling: 'Driving', storniert: 'Cancelled' },
  Confirmed: 'Waiting', // this service means something else by a word of ours
};
const { pointers, statuses } = parseContractProfile({ statuses: { words } });
const asked = toOrderId('42');
const read = (status: string) => parseOrderReply({ order: { status } }, pointers.orderDetails, statuses, asked);

describe('a word of the service', () => {
  it.each([
    ['REQUESTED', 'Pending', false],
    ['requested', 'Pending', false],
    ['with_agent', 'CareReq', false],
    ['STORNIERT', 'Cancelled', true],
    ['Confirmed', 'Waiting', false],
    ['driving', 'Driving', false],
    ['completed', 'Completed', true],
    ['ActiveOrder', 'ActiveOrder', false],
    ['On Ferry', 'On Ferry', false],
  ])('%s is %s for us, and what came stays with it', (word, status, terminal) => {
    expect(read(word)).toMatchObject({ status, rawStatus: word, terminal });
  });

  it('of a delivery is ours where the profile maps it, else as it came', () => {
    const claimed = createDeliveryReader({ ...pointers.delivery, status: ['/status'] }, statuses);
    const claims = ['Requested', 'storniert', 'CONFIRMED', 'canceled', 'On Ferry'].map(
      (status) => claimed({ order_id: '42', status }).status,
    );
    expect(claims).toEqual(['Pending', 'Cancelled', 'Waiting', 'canceled', 'On Ferry']);
  });
});

describe('an order of a service that spells its statuses otherwise', () => {
  const now = Date.parse('2031-05-01T12:00:00Z');
  const shown = (status: string, minutes: number) => ({
    ...{ account: toAccountName('business'), orderId: asked, rawStatus: status, attention: null, scheduledAt: null },
    since: new Date(now - minutes * 60_000).toISOString(),
    followedSince: new Date(now - minutes * 60_000).toISOString(),
  });

  it('needs a person as any other does, and is no news while it stays', () => {
    const concernOf = (word: string, status: string, minutes: number) =>
      concernIn(read(word), now, shown(status, minutes), defaultWatch)?.code;
    expect(concernOf('REQUESTED', 'Pending', 20)).toBe('stuckInStatus');
    expect(concernOf('REQUESTED', 'Pending', 5)).toBeUndefined();
    expect(concernOf('with agent', 'CareReq', 1)).toBe('customerCare');
    expect(isNews(read('REQUESTED'), now, shown('Pending', 5), defaultWatch)).toBe(false);
    expect(isNews(read('rolling'), now, shown('Pending', 5), defaultWatch)).toBe(true);
    const late = { ...shown('Reserved', 5), scheduledAt: '2031-05-01T11:40:00Z' };
    expect(
      concernIn(read('planned'), now, { ...late, followedSince: '2031-05-01T11:00:00Z' }, defaultWatch)?.code,
    ).toBe('latePickup');
  });

  it('has their pace', () => {
    const cadence: Account['poll'] = { activeMs: 10_000, reservedMs: 300_000, pushedMs: 300_000 };
    const paceOf = (word: string) =>
      nextReadMs({ status: read(word).status, since: now, scheduledAt: null, pushed: false, now }, cadence);
    expect(['planned', 'With Agent', 'REQUESTED'].map(paceOf)).toEqual([300_000, 300_000, 10_000]);
  });
});

describe('the words of a contract file', () => {
  const problemOf = (own: object): string => {
    try {
      parseContractProfile({ statuses: own });
    } catch (error) {
      if (error instanceof InvalidInput) return error.message;
      throw error;
    }
    return 'none';
  };
  it.each([
    [{ words: { erledigt: 'Done' } }, 'statuses.words.erledigt: '],
    [{ words: { '': 'Completed' } }, 'statuses.words'],
    [{ words: { on_way: 'Driving', 'On Way': 'Confirmed' } }, 'statuses.words.On Way: is the word on_way in another'],
    [
      { words: { weg: 'Rejected' }, terminal: ['Completed'] },
      'statuses.words.weg: Rejected must also be in statuses.t',
    ],
    [{ endWords: { weg: 'Cancelled' } }, 'statuses.endWords: is statuses.words now; rename it'],
  ])('%j: %s', (own, problem) => {
    expect(problemOf(own)).toContain(problem);
  });

  it('may name a word twice, and a status of ours', () => {
    expect(problemOf({ words: { on_way: 'Driving', 'On Way': 'Driving', Pending: 'Routing' } })).toBe('none');
    expect(defaultContractProfile.statuses.words).toEqual({});
  });
});

it.each([
  ['Care.Req', 'CareReq'],
  ['CANCELED!', 'Cancelled'],
  ['requested', 'Pending'],
  ['IN_PROGRESS', 'Driving'],
  ['in progress', 'Driving'],
  ['canceled_by_rider', 'Cancelled'],
  ['no-drivers-available', 'Rejected'],
  ['ride_completed', 'Completed'],
  ['ORDER.CANCELED', 'Cancelled'],
  ['status_in_progress', 'Driving'],
  ['cancelled_by_client', 'Cancelled'],
  ['ride_', undefined],
  ['ride_en_route', undefined],
  ['en_route', undefined],
  ['ok', undefined],
  ['', undefined],
])('%s probably means %s', (word, status) => {
  expect(likelyStatus(word)).toBe(status);
});

it('each of our words means itself', () => {
  expect(rideStatuses.map(likelyStatus)).toEqual(rideStatuses);
});
