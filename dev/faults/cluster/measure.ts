import { benchFollow } from '../../bench/follow.js';
import { benchIngress } from '../../bench/ingress.js';
import { summarize, toTable } from '../../bench/report.js';
import type { Report } from '../../stack/temporal/run-command.js';
import type { Cluster } from './start-cluster.js';

const orders = 60;
/** The load that two cores sustain with server, database, service, ingress and worker. At 20, the load of the embedded server, changes queue up. */
const changesPerSecond = 10;

/** The parts of the benches that depend on the server. Their goals are for an embedded server, so they are shown and not checked. */
export async function measure({ address }: Cluster, rounds: number, say: Report): Promise<undefined> {
  const temporal = { address };
  const shared = { temporal, rounds, say };
  const follow = await benchFollow({ ...shared, only: ['throughput'], orders, live: 0 });
  const ingress = await benchIngress({ ...shared, only: ['freshness'], seconds: 0, changesPerSecond });
  console.log(
    toTable([
      { name: 'following orders', beside: 'a plain tracker', summaries: follow.map(summarize) },
      { name: 'taking deliveries', beside: 'nothing', summaries: ingress.map(summarize) },
    ]),
  );
}
