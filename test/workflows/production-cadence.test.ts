import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isLong } from '../support/long.js';
import { scripted, startTimeSkippingStack, type TimeSkippingStack } from '../support/order/time-skipping.js';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
/** The service takes orders up to 30 days ahead. Virtual time takes real time, too: 5 ms for each read. */
const daysAhead = isLong ? 30 : 10;

let stack: TimeSkippingStack;
beforeAll(async () => {
  stack = await startTimeSkippingStack();
});
afterAll(() => stack.close());

const fourHours: [string, number][] = [
  ['Pending', 0],
  ['Routing', 5 * minute],
  ['Confirmed', 30 * minute],
  ['Waiting', 60 * minute],
  ['Driving', 75 * minute],
  ['CareReq', 150 * minute],
  ['Driving', 165 * minute],
  ['Completed', 4 * hour],
];

describe('at the default cadence, in virtual time', () => {
  it('a ride of four hours and eight statuses ends with the right timeline, in at most 100 events', async () => {
    const handle = await stack.start(scripted(fourHours));
    const trail = await handle.result();
    const { events } = await handle.fetchHistory();

    expect(trail).toMatchObject({ outcome: 'completed', attention: null });
    expect(trail.timeline.map(({ status }) => status)).toEqual(fourHours.map(([status]) => status));
    const [first] = trail.timeline;
    trail.timeline.forEach(({ at }, index) => {
      const lateMs = Date.parse(at) - Date.parse(first?.at ?? '') - (fourHours[index]?.[1] ?? 0);
      expect(lateMs, trail.timeline[index]?.status).toBeGreaterThanOrEqual(0);
      // CareReq is read every two minutes, anything else at least once a minute; plus a tenth of jitter.
      expect(lateMs, trail.timeline[index]?.status).toBeLessThanOrEqual(2.3 * minute);
    });
    expect(trail.reads).toBe(stack.reads.length);
    expect(stack.reads.length).toBeGreaterThan(300);
    expect(events?.length).toBeLessThanOrEqual(100);
    expect(stack.tokenRequests.length).toBeLessThanOrEqual(5);
  });

  it('an unchanged poll adds no event: ten times as long a wait costs the same history', async () => {
    const eventsOf = async (waitMs: number): Promise<number> => {
      const handle = await stack.start(
        scripted([
          ['Driving', 0],
          ['Completed', waitMs],
        ]),
      );
      await handle.result();
      return (await handle.fetchHistory()).events?.length ?? 0;
    };
    const readsBefore = stack.reads.length;
    const short = await eventsOf(10 * minute);
    const readsShort = stack.reads.length - readsBefore;
    const long = await eventsOf(100 * minute);
    expect(stack.reads.length - readsBefore - readsShort).toBeGreaterThan(2 * readsShort);
    expect(long).toBe(short);
  });

  it(`an order reserved ${daysAhead} days ahead is followed to its end in at most 100 events`, async () => {
    const before = stack.onTokenRequest;
    // Its renewals would cost as much time as the reads, and are none of this order's events.
    stack.onTokenRequest = (now) => ({ ...before(now), lifetimeMs: 2 * daysAhead * day });
    const pickUpMs = daysAhead * day;
    const scheduledAt = new Date((await stack.env.currentTimeMs()) + pickUpMs).toISOString();
    const script: [string, number][] = [
      ['Reserved', 0],
      ['Routing', pickUpMs - 20 * minute],
      ['Confirmed', pickUpMs - 10 * minute],
      ['Waiting', pickUpMs],
      ['Driving', pickUpMs + 5 * minute],
      ['Completed', pickUpMs + hour],
    ];
    const handle = await stack.start(scripted(script), { scheduledAt });
    const trail = await handle.result();
    expect(trail).toMatchObject({ outcome: 'completed' });
    expect(trail.timeline.map(({ status }) => status)).toEqual(script.map(([status]) => status));
    expect((await handle.fetchHistory()).events?.length).toBeLessThanOrEqual(100);
  }, 300_000);
});
