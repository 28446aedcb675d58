import type { LedgerEntry } from '../../sandbox/ledger.js';
import type { Fault } from './faults.js';
import { isOfTemporal, type WorkerName, workerNames } from './plan.js';
import type { Verdict } from './verdict.js';

/** The reasons of token requests. */
export type TokenReason = 'first' | 'renewed' | 'afterFailure' | 'afterRevocation' | 'answerLost';

/** The contract profile's time for a renewal, for a token of this lifetime. */
const aheadMs = (lifetimeMs: number): number => Math.min(60_000, lifetimeMs / 5);
/** The difference of two clocks, and the way of a request. */
const slackMs = 1_000;
/**
 * Delays on a busy machine: until Temporal has stored the answer to a request, and from a worker's request for a token
 * until the service receives it. The worker counts the token's age from its own request.
 */
const keptWithinMs = 3_000;
const perRevocation = 2;
const paceMs = 30_000;

/**
 * Did workers send one token request per lifetime for each account and scope (I4)? Further requests need an excuse: the previous
 * request failed, its answer was lost with the worker or in a pause of the service, or the service ended the token.
 */
export function judgeTokens(
  requests: readonly LedgerEntry[],
  { faults, lifetimeMs }: { faults: readonly Fault[]; lifetimeMs: number },
): Verdict {
  const problems: string[] = [];
  const counts: Record<TokenReason, number> = {
    first: 0,
    renewed: 0,
    afterFailure: 0,
    afterRevocation: 0,
    answerLost: 0,
  };
  const keyOf = ({ operation, scope }: LedgerEntry) => `${operation} ${scope || 'unscoped'}`;
  const keys = [...new Set(requests.map(keyOf))];
  for (const key of keys) {
    const excused = new Map<Fault, number>();
    const ofKey = requests.filter((request) => keyOf(request) === key);
    for (const [i, request] of ofKey.entries()) {
      const reason = reasonOf(ofKey.slice(0, i), Date.parse(request.at), { faults, lifetimeMs, excused });
      if (reason) counts[reason] += 1;
      else problems.push(`token ${key}: one request too many at ${request.at}`);
    }
  }
  return { problems, figures: { tokenLeases: keys.length, tokenRequests: requests.length, ...prefixed(counts) } };
}

interface Circumstances {
  faults: readonly Fault[];
  lifetimeMs: number;
  /** How many requests each revocation has excused. */
  excused: Map<Fault, number>;
}

function reasonOf(before: readonly LedgerEntry[], at: number, about: Circumstances): TokenReason | null {
  const last = before.at(-1);
  if (!last) return 'first';
  const lastAt = Date.parse(last.at);
  if (last.httpStatus !== 200 || last.fault !== undefined) return 'afterFailure';
  if (at >= lastAt + about.lifetimeMs - aheadMs(about.lifetimeMs) - keptWithinMs) return 'renewed';
  if (about.faults.some((fault) => losesAnswer(fault, lastAt, about.faults))) return 'answerLost';
  const isRevocation = (fault: Fault) =>
    excuses(fault, about.faults) > (about.excused.get(fault) ?? 0) &&
    fault.beganAt <= at &&
    endOf(fault, about.faults) >= lastAt - slackMs;
  const revoked = about.faults.find((fault) => isRevocation(fault));
  if (!revoked) return null;
  about.excused.set(revoked, (about.excused.get(revoked) ?? 0) + 1);
  return 'afterRevocation';
}

/** When workers no longer reject tokens because of this fault. One that starts under a wrong profile has it until it starts again. */
function endOf({ kind, beganAt, endedAt }: Fault, faults: readonly Fault[]): number {
  if (kind !== 'mislead') return kind === 'revokeTokens' ? endedAt : Number.NEGATIVE_INFINITY;
  const starts = (worker: WorkerName) =>
    faults.filter(({ target, kind: what }) => target === 'keys' || (target === worker && isStart.has(what)));
  return Math.max(
    endedAt,
    ...workerNames.map((worker) => {
      const isMisled = starts(worker).some((start) => start.endedAt >= beganAt && start.beganAt <= endedAt);
      if (!isMisled) return endedAt;
      return Math.min(...starts(worker).flatMap((start) => (start.beganAt > endedAt ? start.endedAt : [])));
    }),
  );
}

const isStart: ReadonlySet<string> = new Set(['kill', 'restart']);

/** How many requests a fault excuses: under a wrong profile the service rejects an operation whatever the token, as often as the lease
 *  replaces it. */
function excuses(fault: Fault, faults: readonly Fault[]): number {
  if (fault.kind === 'revokeTokens') return perRevocation;
  if (fault.kind !== 'mislead') return 0;
  return perRevocation + Math.floor((Math.min(endOf(fault, faults), Date.now()) - fault.beganAt) / paceMs);
}

/** Could this fault have lost the answer to a request of that instant? A worker keeps it while Temporal is away. */
function losesAnswer(fault: Fault, requestedAt: number, faults: readonly Fault[]): boolean {
  const isAway = ({ target, beganAt, endedAt }: Fault) =>
    isOfTemporal(target) && beganAt <= requestedAt + keptWithinMs && endedAt >= requestedAt;
  const keptAt = Math.max(requestedAt, ...faults.filter(isAway).map(({ endedAt }) => endedAt)) + keptWithinMs;
  const isWorker = fault.target === 'worker-1' || fault.target === 'worker-2';
  // A worker that is back does what was handed to it meanwhile, though Temporal has given it to another one and takes no answer.
  const doneUntil = fault.endedAt + (['pause', 'freeze', 'isolate'].includes(fault.kind) ? keptWithinMs : 0);
  if (isWorker) return fault.kind !== 'restart' && fault.beganAt <= keptAt && doneUntil >= requestedAt;
  const isSilence = fault.target === 'sandbox' && (fault.kind === 'pause' || fault.kind === 'down');
  return isSilence && fault.beganAt <= requestedAt + slackMs && fault.endedAt >= requestedAt - slackMs;
}

const prefixed = (counts: Record<TokenReason, number>): Record<string, number> =>
  Object.fromEntries(
    Object.entries(counts).map(([reason, count]) => [`tokens${reason[0]?.toUpperCase()}${reason.slice(1)}`, count]),
  );
