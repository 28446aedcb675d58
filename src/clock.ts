/*
 * The two clocks of a process; no other file outside the workflows reads one (a test of structure holds that).
 * An optional property keeps them apart: a plain function is either, but neither type can take the place of the other.
 */

/** Gives instants, in milliseconds since the epoch: to show, to send, or to compare with an instant from elsewhere. It may step. */
export type WallClock = (() => number) & { readonly clock?: 'wall' };

/** Gives milliseconds since an arbitrary moment, for every duration. It never steps. It may stop while the machine sleeps. */
export type MonotonicClock = (() => number) & { readonly clock?: 'monotonic' };

export const wallMs: WallClock = Object.assign(() => Date.now(), { clock: 'wall' } as const);

export const monotonicMs: MonotonicClock = Object.assign(() => performance.now(), { clock: 'monotonic' } as const);

/** The age of an instant by the wall clock, never negative. Only for an instant that was not read from a clock of this process. */
export const ageMs = (instantMs: number, wall: WallClock = wallMs): number => Math.max(0, wall() - instantMs);

/** The deadline of a call, as gRPC takes it. It turns the instant into a duration when the call is sent. */
export const deadlineIn = (ms: number): number => Date.now() + ms;
