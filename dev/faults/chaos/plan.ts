import { seededRandom } from '../../sandbox/faults.js';
import type { OperationName } from '../../sandbox/operations.js';
import { createDraw, type Draw } from './draw.js';
import { type PlannedWork, plannedWork } from './plan-work.js';
import { type StrangeAnswer, strangeAnswersOf } from './strange-answers.js';
import { type WrongGuess, wrongGuesses } from './wrong-guesses.js';

/** The processes of a deployment, and the service. */
export const processNames = ['worker-1', 'worker-2', 'ingress', 'temporal', 'sandbox'] as const;
/** The processes that take the place of `temporal` where it is a cluster. */
export const clusterNames = ['server-1', 'server-2', 'server-3', 'postgres'] as const;
type ClusterName = (typeof clusterNames)[number];
export type ProcessName = (typeof processNames)[number] | ClusterName;

export const workerNames = ['worker-1', 'worker-2'] as const;
export type WorkerName = (typeof workerNames)[number];

/** The receivers of notices. */
export const receiverNames = ['receiver-1', 'receiver-2'] as const;
export type ReceiverName = (typeof receiverNames)[number];

/** Where faults happen without a cluster. Each place has one after the other. */
export const places = [
  ...processNames,
  ...receiverNames,
  ...(['disk', 'address', 'profile', 'keys', 'release', 'store'] as const),
] as const;
type OwnPlace = (typeof places)[number];
export type Place = OwnPlace | ClusterName;

/** Is this a part of Temporal? */
export const isOfTemporal = (place: Place): boolean => ['temporal', ...clusterNames].includes(place);

export const receiverFaults = ['reset', 'hang', 'fail', 'slow'] as const;

/**
 * `kill`: SIGKILL, and a start after the time. `pause`: SIGSTOP, and SIGCONT after the time. `restart`: SIGTERM, and a start after
 * the end. `freeze`: a pause, and `isolate`: the process does not reach Temporal, both so long that another worker takes over its
 * watches. The sandbox would lose its state, so the suite only pauses it. Its own faults: it drops every connection (`down`), loses
 * the answers of calls that it carries out, answers 500, answers nonsense (`strangeAnswers`), or ends all tokens early.
 *
 * A receiver of notices resets its connections, does not answer, answers 500, or answers late. The disk of the journal is `full`. A
 * stranger who knows the address of the subscription sends deliveries about invented orders (`flood`). The profile misleads the workers
 * that start meanwhile (`mislead`). PostgreSQL of the store is killed or paused, too. `rotateKeys`: payload keys. `roll`: the second version of the workers becomes the current one.
 */
export type FaultKind =
  | 'kill'
  | 'pause'
  | 'restart'
  | 'freeze'
  | 'isolate'
  | 'down'
  | 'loseAnswers'
  | 'serverErrors'
  | 'strangeAnswers'
  | 'revokeTokens'
  | (typeof receiverFaults)[number]
  | 'full'
  | 'flood'
  | 'mislead'
  | 'rotateKeys'
  | 'roll';

/** One fault. */
export interface PlannedFault {
  /** From the start of the faults. */
  atMs: number;
  target: Place;
  kind: FaultKind;
  lastsMs: number;
  /** For `loseAnswers`, `serverErrors` and `strangeAnswers`. */
  operation?: OperationName;
  /** For `strangeAnswers`. */
  answer?: StrangeAnswer;
  /** For `mislead`. */
  guess?: WrongGuess;
}

/** What differs between deployments. */
export interface Deployment {
  encrypts: boolean;
  /** The workers run side by side as two versions of a worker deployment, of the same workflows. */
  versioned: boolean;
  /** Do changes become rows of a store? */
  stores: boolean;
  /** How far the clock of worker-2 is ahead; 0: it is right. */
  clockAheadMs: number;
}

/** A deployment with nothing special. */
export const plainDeployment: Deployment = { encrypts: false, versioned: false, stores: false, clockAheadMs: 0 };

/** All work and all faults. */
export interface Plan {
  seed: number;
  forMs: number;
  deployment: Deployment;
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
/** Long enough for Temporal to notice that a worker with watches is gone. */
const longGoneMs = 45_000;
const workerHabit: Habit = {
  everyMs: 20_000,
  kinds: [...ourKinds, ...ourKinds, 'freeze', 'isolate'],
  longestMs: { ...ourLongestMs, freeze: longGoneMs, isolate: longGoneMs },
};

const receiverHabit: Habit = {
  everyMs: 25_000,
  kinds: [...receiverFaults],
  longestMs: { reset: 10_000, hang: 10_000, fail: 10_000, slow: 10_000 },
};

/** Processes are up most of the time, so that there is work for the faults to disturb. */
const habits: Record<OwnPlace, Habit> = {
  'worker-1': workerHabit,
  'worker-2': workerHabit,
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
  'receiver-1': receiverHabit,
  'receiver-2': receiverHabit,
  disk: { everyMs: 60_000, kinds: ['full'], longestMs: { full: 8_000 } },
  address: { everyMs: 300_000, kinds: ['flood'], longestMs: { flood: 30_000 } },
  profile: { everyMs: 90_000, kinds: ['mislead'], longestMs: { mislead: 40_000 } },
  keys: { everyMs: 60_000, kinds: ['rotateKeys'], longestMs: {} },
  release: { everyMs: 90_000, kinds: ['roll'], longestMs: {} },
  store: { everyMs: 25_000, kinds: ['kill', 'pause'], longestMs: { kill: 10_000, pause: 10_000 } },
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
  const deployment = deploymentOf(seed, draw);
  const isFor: Partial<Record<OwnPlace, boolean>> = {
    keys: deployment.encrypts,
    release: deployment.versioned,
    store: deployment.stores,
  };
  const faults = places
    .filter((target) => isFor[target] ?? true)
    .flatMap((target) => faultsOf(target, forMs, draw))
    .sort((a, b) => a.atMs - b.atMs);
  return { seed, forMs, deployment, faults, work: plannedWork(draw, { seed, forMs }) };
}

/** Work for hours without faults, and so little of it that other work can go on beside it. */
export function createSoakPlan(seed: number, forMs: number): Plan {
  const work = plannedWork(createDraw(seededRandom(seed)), { seed, forMs, rarer: 4 });
  return { seed, forMs, deployment: { ...plainDeployment, encrypts: true }, faults: [], work };
}

/** Neighbouring seeds differ, so that a few of them cover all. */
function deploymentOf(seed: number, draw: Draw): Deployment {
  const aheadMs = draw.between(120_000, 240_000); // receivers of notices refuse five minutes
  const kind = seed % 3;
  return { encrypts: kind === 1, versioned: kind === 0, stores: kind !== 0, clockAheadMs: kind === 1 ? aheadMs : 0 };
}

function strangeOne(draw: Draw): Pick<PlannedFault, 'operation' | 'answer'> {
  const operation = draw.oneOf(Object.keys(strangeAnswersOf) as OperationName[]);
  return { operation, answer: draw.oneOf(strangeAnswersOf[operation] ?? []) };
}

/** Kinds come as cards from a shuffled deck, so that each kind comes soon. */
function faultsOf(target: OwnPlace, forMs: number, draw: Draw): PlannedFault[] {
  const { everyMs, kinds, longestMs } = habits[target];
  const faults: PlannedFault[] = [];
  const nextKind = draw.deck(kinds);
  let revokedAt = Number.NEGATIVE_INFINITY;
  const apartMs = Math.min(everyMs * (forMs < shortRunMs ? densely : 1), forMs / 2);
  for (const atMs of draw.instants(apartMs, forMs)) {
    let kind = nextKind();
    if (kind === 'revokeTokens' && atMs - revokedAt < revocationsApartMs) kind = 'pause';
    if (kind === 'revokeTokens') revokedAt = atMs;
    const longest = Math.min(longestMs[kind] ?? 0, forMs / 4);
    const isLong = kind === 'freeze' || kind === 'isolate';
    const lastsMs = longest === 0 ? 0 : draw.between(isLong ? longest * 0.8 : shortestMs, longest);
    const isOfCalls = kind === 'loseAnswers' || kind === 'serverErrors';
    const strange = kind === 'strangeAnswers' ? strangeOne(draw) : {};
    faults.push({
      atMs,
      target,
      kind,
      lastsMs,
      ...(isOfCalls && { operation: draw.oneOf(faultyOperations) }),
      ...strange,
      ...(kind === 'mislead' && { guess: draw.oneOf(wrongGuesses) }),
    });
  }
  return faults;
}
