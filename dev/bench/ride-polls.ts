import type { Cadence } from '../../src/domain/account.js';
import { jitterShare, nextReadMs } from '../../src/domain/order/cadence.js';

/** A ride: each status with its first millisecond. */
export type Ride = readonly (readonly [status: string, fromMs: number])[];

export interface RidePolls {
  polls: number;
  /** How late the end was found, in milliseconds. */
  endLateMs: number;
}

export interface PlayedRide {
  ride: Ride;
  cadence: Cadence;
  /** Changes of which a delivery tells: the indexes in the ride. */
  announced?: readonly number[];
  random?: () => number;
}

/**
 * Plays a ride in virtual time with the pace of polls, and counts them. A delivery is read at once, by no poll; polls go on at the pace
 * that they had.
 */
export function playPolls({ ride, cadence, announced = [], random = Math.random }: PlayedRide): RidePolls {
  const last = ride.length - 1;
  const [, endMs = 0] = ride[last] ?? [];
  let [known, since, polls] = [0, 0, 0];
  let pushed = false;
  for (let now = 0; ; ) {
    const order = { status: ride[known]?.[0] ?? null, since, scheduledAt: null, pushed, now };
    now += nextReadMs(order, cadence) * (1 + random() * jitterShare);
    polls += 1;
    const current = ride.findLastIndex(([, fromMs]) => fromMs <= now);
    const told = announced.findLast((index) => index <= current) ?? 0;
    if (told === last) return { polls, endLateMs: 0 }; // this poll finds that the run has ended
    if (current === last) return { polls, endLateMs: now - endMs };
    if (current === known) continue;
    // The watch learns by its next poll that a delivery has led to the status.
    pushed = told === current && (pushed || told > 0);
    [known, since] = [current, now];
  }
}
