/*
 * The two clocks of a process; no other file outside the workflows reads one (a test of structure holds that).
 * An optional property keeps them apart: a plain function is either, but neither type can take the place of the other.
 */

/**
 * Instants in milliseconds since the epoch: to show, to send, or to compare with an instant from elsewhere. May step.
 */
export type WallClock = (() => number) & { readonly clock?: 'wall' };

/** Milliseconds since an arbitrary moment, for durations. Never steps. May stop while the machine sleeps. */
export type MonotonicClock = (() => number) & { readonly clock?: 'monotonic' };

export const wallMs: WallClock = Object.assign(() => Date.now(), { clock: 'wall' } as const);

export const monotonicMs: MonotonicClock = Object.assign(() => performance.now(), { clock: 'monotonic' } as const);

/**
 * The age of an instant by the wall clock, never negative. Only for instants that another process or machine recorded.
 */
export const ageMs = (instantMs: number, wall: WallClock = wallMs): number => Math.max(0, wall() - instantMs);

/** The time until an instant by the wall clock, never negative. Only for instants from elsewhere, like `ageMs`. */
export const leftMs = (instantMs: number, wall: WallClock = wallMs): number => Math.max(0, instantMs - wall());

/** The instant so much later than now, to show, to send or to compare; never to wait for. */
export const instantIn = (ms: number, wall: WallClock = wallMs): number => wall() + ms;

/** The wall clock minus the monotonic one, at this moment. */
export const wallOffsetMs = (clocks: { now: WallClock; monotonic: MonotonicClock }): number =>
  clocks.now() - clocks.monotonic();

/** The deadline of a call, as gRPC takes it. It turns the instant into a duration when the call is sent. */
export const deadlineIn = (ms: number): number => Date.now() + ms;
