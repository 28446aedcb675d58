import type { Postgres } from '../../stack/postgres/postgres.js';
import type { Report } from '../../stack/temporal/run-command.js';
import type { Member } from '../chaos/member.js';
import { toText } from '../chaos/report.js';
import { runPlan } from '../chaos/run.js';
import type { TemporalSite } from '../chaos/temporal-member.js';
import { type OnEnd, openEnds } from '../profile.js';
import { createServerPlan } from './fault-plan.js';
import { clusterShapes } from './server-config.js';
import { countMessages } from './server-log.js';
import { startCluster } from './start-cluster.js';
import type { Tally } from './tally.js';

/** What the part `faults` is asked for. */
export interface FaultsWanted {
  minutes: number;
  seed: number;
  servers: keyof typeof clusterShapes;
}

/** Below what the work asks for at its peaks, so that the budget decides. */
const requestsPerSecond = 12;
const messagesShown = 12;

/** Runs the work of the fault suite on several servers while they are killed and paused. Its judge judges. */
export async function runServerFaults(
  { minutes, seed, servers: count }: FaultsWanted,
  say: Report,
  onEnd: OnEnd,
): Promise<Tally> {
  const plan = createServerPlan(seed, Math.round(minutes * 60_000), count);
  let logs: string[] = [];
  const openTemporal = async (folder: string): Promise<TemporalSite> => {
    const own = openEnds(say);
    onEnd(own.endAll);
    const { address, postgres, servers } = await startCluster(clusterShapes[count], { folder, say, onEnd: own.onEnd });
    return {
      address,
      members: [...servers, databaseMember(postgres)],
      readDatabase: async () =>
        Buffer.concat([await postgres.dump('temporal'), await postgres.dump('temporal_visibility')]),
      async close() {
        logs = servers.map(({ output }) => output().toString());
        await own.endAll();
      },
    };
  };
  const report = await runPlan(plan, { openTemporal, requestsPerSecond }, say);
  console.log(toText(report));
  console.log('most frequent in the logs of the servers:');
  for (const [message, times] of countMessages(logs).slice(0, messagesShown)) console.log(`${times} x ${message}`);
  const { ordersFollowed = 0, ridesRequested = 0, businessCalls = 0 } = report.figures;
  return { passed: ordersFollowed + ridesRequested + businessCalls, failed: report.problems.length };
}

/** Of the faults, the plan only has restarts for the database. */
function databaseMember({ start, stop }: Postgres): Member {
  let isUp = true;
  const unplanned = () => {
    throw new Error('the database is only restarted');
  };
  return {
    name: 'postgres',
    async start() {
      await start();
      isUp = true;
    },
    isUp: async () => isUp,
    kill: stop,
    async stop() {
      isUp = false;
      await stop();
    },
    pause: unplanned,
    resume: unplanned,
    output: () => Buffer.alloc(0), // the judge searches the database itself
    ownEnds: () => [],
    starts: () => [],
  };
}
