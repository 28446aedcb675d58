import { seededRandom } from '../../sandbox/faults.js';
import { createDraw } from '../chaos/draw.js';
import { clusterNames, type Plan, type PlannedFault, plainDeployment } from '../chaos/plan.js';
import { plannedWork } from '../chaos/plan-work.js';

const firstKillMs = 15_000;
const killEveryMs = 30_000;
const longestAwayMs = 4_000;
/** A pause begins after every other kill, once the killed server is back, and ends before the next kill: one server at a time. */
const pauseAfterKillMs = 9_000;
const pauseMs = 20_000;
const databaseAwayMs = 3_000;

/**
 * Kills a server each half minute, pauses one each minute, and restarts the database once, half way. All of them take their turn.
 * The work is that of the fault suite. The same seed and time give the same plan.
 */
export function createServerPlan(seed: number, forMs: number, servers: number): Plan {
  const draw = createDraw(seededRandom(seed));
  const names = clusterNames.filter((name) => name !== 'postgres').slice(0, servers);
  const [killNext, pauseNext] = [draw.deck(names), draw.deck(names)];
  const faults: PlannedFault[] = [];
  for (let at = firstKillMs, kills = 0; at < forMs; at += killEveryMs, kills += 1) {
    faults.push({ atMs: at, target: killNext(), kind: 'kill', lastsMs: draw.between(0, longestAwayMs) });
    const pauseAt = at + pauseAfterKillMs;
    if (kills % 2 === 0 && pauseAt < forMs)
      faults.push({ atMs: pauseAt, target: pauseNext(), kind: 'pause', lastsMs: pauseMs });
  }
  faults.push({ atMs: Math.round(forMs / 2), target: 'postgres', kind: 'restart', lastsMs: databaseAwayMs });
  faults.sort((a, b) => a.atMs - b.atMs);
  return { seed, forMs, deployment: plainDeployment, faults, work: plannedWork(draw, { seed, forMs }) };
}
