import { benchFollow } from '../bench/follow.js';
import { benchIngress } from '../bench/ingress.js';
import { toTable } from '../bench/report.js';
import type { Report } from '../local/temporal/run-command.js';
import type { Cluster } from './start-cluster.js';

const orders = 60;
/** What server, database, service, ingress and worker hold on two cores; at 20, as embedded, changes queue up. */
const changesPerSecond = 10;

/** The parts of the benches that the server decides. Their goals are set for an embedded server: shown, not checked. */
export async function measure({ address }: Cluster, rounds: number, say: Report): Promise<undefined> {
  const temporal = { address };
  const shared = { temporal, rounds, say };
  const follow = await benchFollow({ ...shared, only: ['throughput'], orders, live: 0 });
  const ingress = await benchIngress({ ...shared, only: ['freshness'], seconds: 0, changesPerSecond });
  console.log(
    toTable([
      { name: 'following orders', beside: 'a plain tracker', summaries: follow },
      { name: 'taking deliveries', beside: 'nothing', summaries: ingress },
    ]),
  );
}
