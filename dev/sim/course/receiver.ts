// A receiver of notices, which fails for a while.
import fc from 'fast-check';
import { isSameStatus } from '../../../src/domain/order/status.js';
import type { OrderTrail } from '../../../src/domain/order/trail.js';
import type { World } from '../world/world.js';
import { hour } from './draws.js';
import { durationText } from './in-words.js';

export interface Receiver {
  failsAtMs: number;
  failsForMs: number;
  /** The HTTP status that it answers with meanwhile. */
  status: number;
}

/** Null in a third of the plans. The failure begins within `withinMs`. */
export const anyReceiver = (withinMs: number): fc.Arbitrary<Receiver | null> =>
  fc.option(
    fc.record({
      failsAtMs: fc.integer({ min: 0, max: withinMs }),
      failsForMs: fc.integer({ min: 0, max: 2 * hour }),
      status: fc.constantFrom(401, 429, 500, 503),
    }),
    { freq: 2 },
  );

export const receiverText = ({ failsAtMs, failsForMs, status }: Receiver): string =>
  `a receiver is told, which answers with ${status} from ${durationText(failsAtMs)} on, for ${durationText(failsForMs)}`;

/** Schedules the failure. Returns its end in milliseconds since the epoch, or 0 without a receiver. */
export function letFail({ scheduler, receivers }: World, url: string, receiver: Receiver | null): number {
  if (!receiver) return 0;
  const { failsAtMs, failsForMs, status } = receiver;
  scheduler.after(failsAtMs, () => receivers.fail(url, status, failsForMs));
  return scheduler.now + failsAtMs + failsForMs;
}

/** Has it refused any notice? */
export const hasRefused = ({ receivers }: World, url: string): boolean =>
  receivers.told.some((one) => one.url === url && !one.isTaken);

/** The notices that it has accepted, without repetitions, in the order of their first arrival. */
export function takenBy<Event extends object>({ receivers }: World, url: string): Event[] {
  const taken = receivers.told.filter((one) => one.isTaken && one.url === url);
  return taken
    .filter(({ id }, index) => taken.findIndex((other) => other.id === id) === index)
    .map(({ event }) => event as Event);
}

/** Compares the statuses that were read after `since` with those that the receiver was told, in order. */
export function untoldStatuses(world: World, url: string, { timeline }: OrderTrail, since: number): string[] {
  const told = takenBy<{ data?: { rawStatus?: string } }>(world, url).map(({ data }) => data?.rawStatus ?? null);
  const read = timeline.flatMap(({ source, rawStatus, at }) =>
    source === 'read' && Date.parse(at) > since ? [rawStatus] : [],
  );
  let count = 0;
  for (const status of told) if (status !== null && isSameStatus(status, read[count] ?? null)) count += 1;
  return count === read.length ? [] : [`told ${told.join(', ')}, but not ${read[count]}, of ${read.join(', ')}`];
}
