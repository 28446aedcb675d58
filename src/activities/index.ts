// What the worker and src/temporal import from this folder.
export { createAuthorizedCall, createQuietTimes } from './authorized-call.js';
export * from './call.js';
export * from './notify.js';
export * from './order.js';
export * from './receipt.js';
export { createReplayActivities, type ReplayReport } from './replay.js';
export * from './runs.js';
export * from './subscription.js';
export {
  type AttemptPlace,
  createServerTime,
  createTemporalClock,
  passedAtServer,
  type TemporalClock,
} from './temporal-clock.js';
export * from './token.js';
export { createUnprovenReads } from './unproven-reads.js';
export type { WatchPort } from './watch/hold.js';
export type { PollEvents } from './watch/polls.js';
export { createUsage } from './watch/rates.js';
export * from './watch/watching.js';
