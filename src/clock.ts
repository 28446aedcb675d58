// The only place that reads a clock. A rule of the tests holds that, and that no duration is the difference of two instants of the wall clock.

/**
 * Milliseconds since the epoch by the clock of this machine, which may be wrong and may step. Only for instants that are shown, sent, or
 * compared with instants of others; never for a duration.
 */
export const wallClockMs = (): number => Date.now();

/** Milliseconds since an arbitrary moment. Never steps; stands still while the machine sleeps. For durations. */
export const monotonicMs = (): number => performance.now();

/** The deadline of a call by Temporal's client, which takes an instant and turns it into a duration at once. */
export const deadlineIn = (ms: number): number => Date.now() + ms;

// Two comparisons with instants of others: of the service, of Temporal, of a file that outlives processes. They are as right as the clocks are.

/** How long ago an instant in epoch milliseconds was; negative if it is to come. */
export const ageMsOf = (instant: number): number => Date.now() - instant;

/** How long until an instant in epoch milliseconds; negative if it has passed. */
export const msUntil = (instant: number): number => instant - Date.now();
