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

/** What any courses have to meet, so that they prove something. */
const anywhere = [
  ...['workerKilled', 'workerPaused', 'workerCutOff', 'workerReplaced', 'clockJumps', 'tokensRevoked', 'rebuilt'],
  ...['activityPaused', 'activityReset'],
  ...['temporal requestLost', 'temporal answerLost', 'service requestLost', 'service answerLost', 'service answerLate'],
];
/** What many courses meet. */
const rarely = [
  ...['ingressKilled', 'reset', 'resetWithoutMessages', 'cancel', 'terminate', 'continuedAsNew', 'noticeRefused'],
  ...['workflowTaskTimedOut', 'activity HEARTBEAT'],
  ...['service 401', 'service 403', 'service 404', 'service 429', 'service 500', 'service 503'],
];
const ofOrders = ['refresh', 'stop', 'unreadableSignal', 'endedByMistake', 'unhandledCommand'];
/** How many seeds of a scenario are played, and what they have to meet. A course of `order` has three orders on average. */
const played: Record<string, { count: number; mustMeet: readonly string[] }> = {
  order: { count: 70, mustMeet: [...anywhere, ...rarely, ...ofOrders] },
  ride: { count: 200, mustMeet: [...anywhere, ...rarely, 'update', 'cancelRide', 'outcomeUnknown'] },
  call: { count: 200, mustMeet: [...anywhere, 'reset', 'resetWithoutMessages', 'cancel', 'terminate'] },
  subscription: {
    count: 200,
    mustMeet: [
      ...[...anywhere, 'ingressKilled', 'reset', 'cancel', 'terminate', 'end', 'rotate', 'move', 'route', 'discard'],
      ...['accepted', 'parked', 'unchecked', 'ended'].map((outcome) => `service: ${outcome}`),
      ...['accepted', 'wrongSecret', 'notJson', 'notFound', 'ended'].map((outcome) => `stranger: ${outcome}`),
    ],
  },
  account: {
    count: 20,
    mustMeet: [
      ...['workerKilled', 'workerPaused', 'workerReplaced', 'rebuilt', 'continuedAsNew'],
      ...['watchCancelled', 'watchTerminated', 'watchReset'],
    ],
  },
};

describe.each(Object.entries(scenarios))('random courses of: %s', (name, scenario) => {
  const { count = 0, mustMeet = [] } = played[name] ?? {};
  const results: Result[] = [];
  beforeAll(async () => {
    const parts = { config: workerConfig(), code: { workflows, interceptors } };
    for (let seed = 1; seed <= count; seed += 1) results.push(await scenario.play(seed, parts));
  });

  it('break no promise', () => {
    expect(results).not.toEqual([]);
    const broken = results.filter(({ violations }) => violations.length > 0);
    expect(broken.map(({ seed, violations }) => ({ seed, violations }))).toEqual([]);
  });

  it('meet each kind of fault', () => {
    const met = new Set(results.flatMap((result) => [...result.met]));
    expect(mustMeet.filter((kind) => !met.has(kind))).toEqual([]);
  });

  it('are the same in another process', async () => {
    const again = 2;
    const args = ['dev/sim/main.mjs', name, '--seed', '1', '--seeds', String(again)];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: projectRoot });
    const hashes = results.slice(0, again).map(({ hash }) => hash);
    const combined = hashes.reduce((all, hash) => Math.imul(all ^ hash, 16_777_619) >>> 0, 0);
    expect(stdout).toContain(`hash ${combined.toString(16)};`);
  });
});
