import { seededRandom } from '../sandbox/faults.js';
import type { OperationName } from '../sandbox/operations.js';
import { createDraw, type Draw } from './draw.js';
import { type PlannedWork, plannedWork } from './plan-work.js';
import { type StrangeAnswer, strangeAnswersOf } from './strange-answers.js';

/** The processes of a deployment, and the service. */
export const processNames = ['worker-1', 'worker-2', 'ingress', 'temporal', 'sandbox'] as const;
/** The processes that take the place of `temporal` where it is a cluster. */
export const clusterNames = ['server-1', 'server-2', 'server-3', 'postgres'] as const;
type OwnName = (typeof processNames)[number];
export type ProcessName = OwnName | (typeof clusterNames)[number];

/** Is this process a part of Temporal? */
export const isOfTemporal = (name: ProcessName): boolean => ['temporal', ...clusterNames].includes(name);

/**
 * `kill`: SIGKILL, and a start after the time. `pause`: SIGSTOP, and SIGCONT after the time. `restart`: SIGTERM, and a start after
 * the end. The sandbox would lose its state, so the suite only pauses it. Its own faults: it drops every connection (`down`), loses
 * the answers of calls that it carries out, answers 500, answers nonsense (`strangeAnswers`), or ends all tokens early.
 */
export type FaultKind =
  | 'kill'
  | 'pause'
  | 'restart'
  | 'down'
  | 'loseAnswers'
  | 'serverErrors'
  | 'strangeAnswers'
  | 'revokeTokens';

/** One fault. */
export interface PlannedFault {
  /** From the start of the faults. */
  atMs: number;
  target: ProcessName;
  kind: FaultKind;
  lastsMs: number;
  /** For `loseAnswers`, `serverErrors` and `strangeAnswers`. */
  operation?: OperationName;
  /** For `strangeAnswers`. */
  answer?: StrangeAnswer;
}

/** All work and all faults. */
export interface Plan {
  seed: number;
  forMs: number;
  faults: PlannedFault[];
  work: PlannedWork[];
}

interface Habit {
  everyMs: number;
  kinds: FaultKind[];
  longestMs: Partial<Record<FaultKind, number>>;
}

const ourKinds: FaultKind[] = ['kill', 'pause', 'restart', 'kill'];
const ourLongestMs = { kill: 2_000, pause: 7_000 };

/** Processes are up most of the time, so that there is work for the faults to disturb. */
const habits: Record<OwnName, Habit> = {
  'worker-1': { everyMs: 20_000, kinds: ourKinds, longestMs: ourLongestMs },
  'worker-2': { everyMs: 20_000, kinds: ourKinds, longestMs: ourLongestMs },
  ingress: { everyMs: 15_000, kinds: ourKinds, longestMs: ourLongestMs },
  temporal: {
    everyMs: 35_000,
    kinds: ['kill', 'pause', 'restart'],
    longestMs: { kill: 4_000, pause: 5_000, restart: 4_000 },
  },
  sandbox: {
    everyMs: 7_000,
    kinds: [
      'strangeAnswers',
      'pause',
      'strangeAnswers',
      'down',
      'loseAnswers',
      'strangeAnswers',
      'serverErrors',
      'revokeTokens',
      'loseAnswers',
    ],
    longestMs: { pause: 6_000, down: 5_000 },
  },
};

/** A shorter run gets denser faults and work, so that each kind occurs. */
const shortRunMs = 120_000;
const densely = 0.6;
const shortestMs = 300;
/** A lease takes a second rejection within a minute for another fault: the service rejects all its tokens. */
const revocationsApartMs = 70_000;
const faultyOperations: OperationName[] = [
  'createOrder',
  'cancelOrder',
  'updateOrder',
  'addReferenceCode',
  'orderDetails',
  'orderStatus',
  'partnerToken',
  'businessToken',
  'createSubscriber',
];

/** The same seed and time give the same plan. */
export function createPlan(seed: number, forMs: number): Plan {
  const draw = createDraw(seededRandom(seed));
  const faults = processNames.flatMap((target) => faultsOf(target, forMs, draw)).sort((a, b) => a.atMs - b.atMs);
  return { seed, forMs, faults, work: plannedWork(draw, { seed, forMs }) };
}

function strangeOne(draw: Draw): Pick<PlannedFault, 'operation' | 'answer'> {
  const operation = draw.oneOf(Object.keys(strangeAnswersOf) as OperationName[]);
  return { operation, answer: draw.oneOf(strangeAnswersOf[operation] ?? []) };
}

/** Kinds come as cards from a shuffled deck, so that each kind comes soon. */
function faultsOf(target: OwnName, forMs: number, draw: Draw): PlannedFault[] {
  const { everyMs, kinds, longestMs } = habits[target];
  const faults: PlannedFault[] = [];
  const nextKind = draw.deck(kinds);
  let revokedAt = Number.NEGATIVE_INFINITY;
  for (const atMs of draw.instants(everyMs * (forMs < shortRunMs ? densely : 1), forMs)) {
    let kind = nextKind();
    if (kind === 'revokeTokens' && atMs - revokedAt < revocationsApartMs) kind = 'pause';
    if (kind === 'revokeTokens') revokedAt = atMs;
    const longest = longestMs[kind];
    const lastsMs = longest === undefined ? 0 : draw.between(shortestMs, longest);
    const isOfCalls = kind === 'loseAnswers' || kind === 'serverErrors';
    const strange = kind === 'strangeAnswers' ? strangeOne(draw) : {};
    faults.push({
      atMs,
      target,
      kind,
      lastsMs,
      ...(isOfCalls && { operation: draw.oneOf(faultyOperations) }),
      ...strange,
    });
  }
  return faults;
}
