// Replaces `src/clock.ts`: each simulated process has its own clocks.
import type { MonotonicClock, WallClock } from '../../../src/clock.js';
import { currentProcess } from './process.js';

export const wallMs: WallClock = Object.assign(() => currentProcess()?.wallMs ?? Date.now(), {
  clock: 'wall',
} as const);
export const monotonicMs: MonotonicClock = Object.assign(() => currentProcess()?.monotonicMs ?? performance.now(), {
  clock: 'monotonic',
} as const);
export const ageMs = (instantMs: number, wall: WallClock = wallMs): number => Math.max(0, wall() - instantMs);
export const leftMs = (instantMs: number, wall: WallClock = wallMs): number => Math.max(0, instantMs - wall());
export const instantIn = (ms: number, wall: WallClock = wallMs): number => wall() + ms;
export const wallOffsetMs = (clocks: { now: WallClock; monotonic: MonotonicClock }): number =>
  clocks.now() - clocks.monotonic();
export const deadlineIn = (ms: number): number => wallMs() + ms;
