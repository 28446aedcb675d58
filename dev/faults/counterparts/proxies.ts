import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom } from '../../sandbox/faults.js';
import { findDevServer } from '../../stack/temporal/dev-server.js';
import { createDraw, type Draw } from '../chaos/draw.js';
import type { Fault } from '../chaos/faults.js';
import { toText } from '../chaos/report.js';
import { runChaos } from '../chaos/run.js';
import { type Link, links } from '../chaos/stage.js';
import type { Row, Wanted } from './report.js';
import { goTool } from './tools.js';
import { startToxiproxy, type Toxic, type Toxiproxy } from './toxiproxy.js';

/** The kinds of disturbance, each with the toxic of one drawn direction. */
const disturbances = {
  latency: (stream) => ({ type: 'latency', stream, attributes: { latency: 1_000, jitter: 900 } }),
  'one kB/s': (stream) => ({ type: 'bandwidth', stream, attributes: { rate: 1 } }),
  'reset after 20 ms': (stream) => ({ type: 'reset_peer', stream, attributes: { timeout: 20 } }),
  'half open': (stream) => ({ type: 'timeout', stream, attributes: { timeout: 0 } }),
  sliced: (stream) => ({ type: 'slicer', stream, attributes: { average_size: 3, size_variation: 2, delay: 300 } }),
  cut: () => 'cut',
} as const satisfies Record<string, (stream: 'upstream' | 'downstream') => Toxic>;
type Disturbance = keyof typeof disturbances;
const kinds = Object.keys(disturbances) as Disturbance[];

/** One planned disturbance of a link. */
export interface Disturbed {
  atMs: number;
  link: Link;
  kind: Disturbance;
  toxic: Toxic;
  lastsMs: number;
}

const everyMs = 12_000;
const lasts = { least: 1_000, most: 8_000 };
/** Now and then longer than 45 s, after which gRPC gives a silent connection up. */
const longMs = 50_000;

/** The same seed and time give the same disturbances. Those of a link never overlap. */
export function disturbancesOf(seed: number, forMs: number): Disturbed[] {
  const draw = createDraw(seededRandom(seed));
  return links.flatMap((link) => ofLink(link, forMs, draw));
}

function ofLink(link: Link, forMs: number, draw: Draw): Disturbed[] {
  const next = draw.deck(kinds);
  let freeAt = 0;
  let hadLong = false;
  return draw.instants(everyMs, forMs).flatMap((atMs) => {
    if (atMs < freeAt) return [];
    const kind = next();
    const isLong = kind === 'half open' && !hadLong && atMs + longMs < forMs;
    hadLong ||= isLong;
    const lastsMs = isLong ? longMs : draw.between(lasts.least, lasts.most);
    freeAt = atMs + lastsMs + lasts.least;
    const toxic = disturbances[kind](draw.oneOf(['upstream', 'downstream'] as const));
    return [{ atMs, link, kind, toxic, lastsMs }];
  });
}

/**
 * As which fault the judge excuses what follows: a worker that does not reach Temporal is to Temporal like one that is paused.
 * It judges nothing by the faults of the ingress.
 */
const judgedAs: Record<Link, Pick<Fault, 'target' | 'kind'>> = {
  'worker to service': { target: 'sandbox', kind: 'down' },
  'worker to Temporal': { target: 'worker-1', kind: 'pause' },
  'ingress to Temporal': { target: 'ingress', kind: 'pause' },
  'service to ingress': { target: 'ingress', kind: 'pause' },
};

const nameOf = (link: Link): string => link.replaceAll(' ', '-');

/** Orders, rides and deliveries go on while each connection is disturbed; then the judge of the fault suite looks at all of it. */
export async function proxies({ minutes, seed, say, onEnd }: Wanted): Promise<Row[]> {
  const tool = await goTool('toxiproxy', say);
  const temporalProgram = await findDevServer(say);
  const toxiproxy = await startToxiproxy(tool);
  onEnd(() => toxiproxy.stop());
  const forMs = Math.round(minutes * 60_000);
  const planned = disturbancesOf(seed, forMs);
  const report = await runChaos({
    ...{ seed, forMs, temporalProgram, say },
    trouble: {
      route: (link, address) => toxiproxy.open(nameOf(link), address),
      cause: async () => ({ faults: await disturbAll(toxiproxy, planned, say), leftOut: 0 }),
    },
  });
  console.log(toText(report));
  const { figures } = report;
  const counted = kinds.map((kind) => `${kind} ${planned.filter((one) => one.kind === kind).length}`);
  const count = (name: string) => figures[name] ?? 0;
  return [
    {
      tool: tool.name,
      version: tool.version,
      tried: `${minutes} min on ${links.length} connections (${links.join(', ')}): ${counted.join(', ')}`,
      came: `${count('ordersFollowed')} orders and ${count('ridesRequested')} rides ended right; ${count('deliveriesAcknowledged')} deliveries acknowledged, ${count('deliveriesLost')} lost; ${count('tokenRequests')} token requests, each with a reason; all runs ended ${Math.round(count('settledMs') / 1_000)} s after the last one`,
      wrong: report.problems,
    },
  ];
}

async function disturbAll(toxiproxy: Toxiproxy, planned: readonly Disturbed[], say: Wanted['say']): Promise<Fault[]> {
  const startedAt = Date.now();
  const lanes = links.map((link) => planned.filter((one) => one.link === link));
  const happened = await Promise.all(
    lanes.map(async (lane) => {
      const faults: Fault[] = [];
      for (const { atMs, link, kind, toxic, lastsMs } of lane) {
        await sleep(Math.max(0, startedAt + atMs - Date.now()));
        say(`${link}: ${kind} for ${lastsMs} ms`);
        const beganAt = Date.now();
        const end = await toxiproxy.disturb(nameOf(link), toxic);
        await sleep(lastsMs);
        await end();
        faults.push({ ...judgedAs[link], atMs, lastsMs, beganAt, endedAt: Date.now() });
      }
      return faults;
    }),
  );
  return happened.flat();
}
