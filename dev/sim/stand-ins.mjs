// Modules that the simulation replaces: Temporal's SDK, timers, clocks and random numbers. Vitest and the bundle of
// `npm run sim` use this list.
import { fileURLToPath } from 'node:url';

const fileAt = (path) => fileURLToPath(new URL(path, import.meta.url));

export const standIns = [
  { find: '@temporalio/workflow', replacement: fileAt('sdk/workflow.ts') },
  { find: '@temporalio/activity', replacement: fileAt('worker/activity.ts') },
  { find: 'node:crypto', replacement: fileAt('clock/crypto.ts') },
  { find: 'node:timers/promises', replacement: fileAt('clock/timers.ts') },
  { find: /^(?:\.{1,2}\/)+(?:(?:src\/)?sealing\/)?sealer\.js$/, replacement: fileAt('world/sealer.ts') },
  { find: /^(?:\.{1,2}\/)+(?:src\/)?clock\.js$/, replacement: fileAt('clock/clocks.ts') },
];
