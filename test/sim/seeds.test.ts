import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { installTimers } from '../../dev/sim/clock/timers.js';
import { scenarios } from '../../dev/sim/course/scenarios.js';
import type { Result } from '../../dev/sim/course/search.js';
import { workerConfig } from '../../dev/sim/world/settings.js';
import { projectRoot } from '../../dev/stack/temporal/project-root.js';
import * as workflows from '../../src/workflows/index.js';
import { interceptors } from '../../src/workflows/interceptors.js';

installTimers();

const seeds = Array.from({ length: 200 }, (_, at) => at + 1);
/** What 200 courses have to meet, so that they prove something. */
const mustMeet = [
  ...['workerKilled', 'workerPaused', 'ingressKilled', 'clockJumps', 'tokensRevoked', 'rebuilt', 'reset'],
  ...['cancel', 'terminate', 'continuedAsNew', 'unhandledCommand', 'workflowTaskTimedOut', 'activity HEARTBEAT'],
  ...['temporal requestLost', 'temporal answerLost', 'service requestLost', 'service answerLost'],
  ...['service 401', 'service 403', 'service 404', 'service 429', 'service 500', 'service 503'],
];
const mustMeetToo: Record<string, readonly string[]> = {
  order: ['refresh', 'stop', 'unreadableSignal'],
  ride: ['update', 'cancelRide', 'outcomeUnknown'],
};

describe.each(Object.entries(scenarios))('200 random courses of: %s', (name, scenario) => {
  const results: Result[] = [];
  beforeAll(async () => {
    const parts = { config: workerConfig(), code: { workflows, interceptors } };
    for (const seed of seeds) results.push(await scenario.play(seed, parts));
  });

  it('break no promise', () => {
    const broken = results.filter(({ violations }) => violations.length > 0);
    expect(broken.map(({ seed, violations }) => ({ seed, violations }))).toEqual([]);
  });

  it('meet each kind of fault', () => {
    const met = new Set(results.flatMap((result) => [...result.met]));
    expect([...mustMeet, ...(mustMeetToo[name] ?? [])].filter((kind) => !met.has(kind))).toEqual([]);
  });

  it('are the same in another process', async () => {
    const count = 5;
    const args = ['dev/sim/main.mjs', name, '--seed', '1', '--seeds', String(count)];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: projectRoot });
    const hashes = results.slice(0, count).map(({ hash }) => hash);
    const combined = hashes.reduce((all, hash) => Math.imul(all ^ hash, 16_777_619) >>> 0, 0);
    expect(stdout).toContain(`hash ${combined.toString(16)};`);
  });
});
