import fc from 'fast-check';
import { expect, it } from 'vitest';
import { toAccountName, toOrderId } from '../../../src/domain/keys.js';
import {
  isRideNews,
  openRide,
  type RideNotice,
  type RideStanding,
  rideCancelled,
  toRideEvent,
  toRideNotice,
} from '../../../src/domain/ride/ride.js';

const account = toAccountName('business');
const open = openRide({ account, requestId: 'trip-9', order: {} });

const changes = fc.record<Partial<RideStanding>>(
  {
    stage: fc.constantFrom('requesting', 'following', 'receipt', 'ended'),
    orderId: fc.constantFrom(null, toOrderId('42')),
    status: fc.constantFrom('Pending', 'Driving'),
    outcome: fc.constantFrom(null, 'completed'),
    attention: fc.option(
      fc.record({
        code: fc.constantFrom('outcomeUnknown', 'upstreamUnavailable'),
        message: fc.string(),
        since: fc.constant('2031-05-01T08:00:00.000Z'),
      }),
    ),
  },
  { requiredKeys: [] },
);

/** What URLs are told of a ride that goes through these changes. */
function toldOf(course: Partial<RideStanding>[]): { told: RideNotice[]; standings: RideStanding[] } {
  const told: RideNotice[] = [];
  const standings = [open];
  for (const change of course) {
    const standing = { ...(standings.at(-1) ?? open), ...change };
    standings.push(standing);
    const notice = toRideNotice(standing, null);
    if (isRideNews(notice, told.at(-1) ?? null)) told.push(notice);
  }
  return { told, standings };
}

const known = ({ stage, orderId, attention }: Pick<RideNotice, 'stage' | 'orderId' | 'attention'>) =>
  JSON.stringify([stage === 'ended', orderId, attention?.code ?? null]);

it('URLs of a ride are told each change of its order, its attention and its end once, and nothing after the end', () => {
  fc.assert(
    fc.property(fc.array(changes, { maxLength: 12 }), (course) => {
      const { told, standings } = toldOf(course);
      const states = standings.map(known);
      const end = standings.findIndex(({ stage }) => stage === 'ended');
      const live = end < 0 ? states : states.slice(0, end + 1);
      expect(told.map(known)).toEqual(live.filter((one, index) => index > 0 && one !== live[index - 1]));
    }),
  );
});

it.each([
  [rideCancelled, rideCancelled],
  [
    { type: 'OutcomeUnknown', message: 'Given up by a person: Ada told me.' },
    { type: 'OutcomeUnknown', message: 'Given up by a person.' },
  ],
  [null, null],
])('a notice says why a ride ended, and keeps the words of a person to itself: %j', (failure, told) => {
  const { status: _, ...standing } = { ...open, stage: 'ended' } as const;
  const notice = toRideNotice({ ...standing, status: 'Driving' }, failure);
  expect(toRideEvent(notice)).toEqual({
    type: 'ride.changed',
    data: { ...standing, failure: told },
  });
});
