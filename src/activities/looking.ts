import { activityInfo, heartbeat } from '@temporalio/activity';
import { type WallClock, wallMs } from '../clock.js';
import { type OperationName, pathToTry } from '../contracts/contract-profile.js';
import { UnusableReply } from '../contracts/unusable-reply.js';
import type { Account } from '../domain/account.js';
import type { AttentionCode, TroubleCode } from '../domain/attention.js';
import { InvalidInput } from '../domain/errors.js';
import { type FailureStreak, judge, type ReadTrouble, streakAfter, utcText } from '../domain/failure-streak.js';
import { iso } from '../domain/instant.js';
import type { AccountName, OrderId } from '../domain/keys.js';
import { jitterShare } from '../domain/order/cadence.js';
import { RideApiError, type RideApiErrorCode, RideApiGarbled, RideApiUnreachable } from '../ride-api/errors.js';
import { defaultMaxWaitMs } from '../ride-api/refusal.js';
import { SealingError } from '../sealing/sealer.js';
import { QuietTime } from './authorized-call.js';
import { notYet, plainFailure, toDelay } from './failures.js';
import { TokenUnavailable } from './token.js';

/** What each refusal means for a run. `TOKEN_REJECTED` gets here only after a renewal of the token. */
const codeOfRefusal: Record<RideApiErrorCode, TroubleCode> = {
  TOKEN_REJECTED: 'credentialsRejected',
  FORBIDDEN: 'forbidden',
  ORDER_UNKNOWN: 'orderNotFound',
  RATE_LIMITED: 'upstreamUnavailable',
  UPSTREAM_FAILED: 'upstreamUnavailable',
  BAD_REQUEST: 'unreadableStatus',
  PAYMENT_REQUIRED: 'unreadableStatus',
  NOT_FOUND: 'unreadableStatus',
  UNPROCESSABLE: 'unreadableStatus',
  REFUSED: 'unreadableStatus',
  REDIRECTED: 'unreadableStatus',
  ERROR_IN_SUCCESS: 'unreadableStatus',
  UNEXPECTED_STATUS: 'unreadableStatus',
};

/** What was asked of the service. */
interface Asked {
  account: AccountName;
  operation: OperationName;
  /** The order that a 404 may be about. */
  orderId?: OrderId | undefined;
}

/** The fields of the contract profile of which one is wrong if the service answers like this because of a wrong guess. */
function fieldsBehind(error: unknown, operation: OperationName): string {
  if (error instanceof UnusableReply)
    return `pointers.${operation}.${error.code === 'ORDER_MISMATCH' ? 'orderId' : 'status'}`;
  if (error instanceof RideApiError && error.code === 'UNEXPECTED_STATUS') return `operations.${operation}.success`;
  return `operations.${operation}.path and operations.${operation}.method`;
}

/** What to try first as the path of an operation. */
function firstTry(operation: OperationName): string {
  const path = pathToTry[operation];
  return path === undefined ? '' : `; the first path to try is ${path}`;
}

const remedies: Record<TroubleCode, (asked: Asked, fields: string) => string> = {
  credentialsRejected: ({ account, operation }) =>
    `Check base URL, token URL, client id and secret of account ${account}, and path and scope of operations.${operation} in the contract profile.`,
  scopeRejected: ({ account }) => `Check which scopes the client of account ${account} was granted.`,
  grantRejected: ({ account }) => `Check the token settings of the contract profile for account ${account}.`,
  forbidden: ({ account, operation }) =>
    `Check the business id and the permissions of account ${account}, and operations.${operation}.scope in the contract profile.`,
  unreadableStatus: (_asked, fields) =>
    `Compare ${fields} in the contract profile with what the service takes and sends.`,
  upstreamUnavailable: () => 'Nothing to do here unless it lasts: the service is asked again by itself.',
  orderNotFound: ({ account, orderId, operation }, fields) =>
    orderId === undefined
      ? ''
      : `Check order id ${orderId}, that the order belongs to account ${account}, and ${fields} in the contract profile${firstTry(operation)}.`,
  outcomeUnknown: () => '',
  subscriptionSilent: () => '',
  deliveriesUnverified: () => '',
};

/** What a refusal means, and its remedy. `fields`: those of the contract profile that may be wrong. */
export function meaningOf(error: RideApiError, asked: Asked): { code: TroubleCode; remedy: string; fields: string } {
  const code = codeOfRefusal[error.code];
  const fields = fieldsBehind(error, asked.operation);
  return { code, remedy: remedies[code](asked, fields), fields };
}

/** The remedy for a token that this worker cannot unseal. */
export const sealingRemedy = 'Give all workers the same FARETRAIL_SEALING_KEYS.';

/** The type of the Temporal failure for a code: `OrderNotFound`, `CredentialsRejected`. */
export const toFailureType = (code: TroubleCode): string => `${code.charAt(0).toUpperCase()}${code.slice(1)}`;

const again = (code: TroubleCode, { orderId }: Asked): string =>
  code === 'orderNotFound' && orderId !== undefined ? ' It is looked for again by itself.' : '';

/** What a failed look means for the run. Undefined for an error that is not about the service, which Temporal repeats. */
export function toReadTrouble(error: unknown, asked: Asked): ReadTrouble | undefined {
  const trouble = (code: TroubleCode, message: string, afterMs?: number): ReadTrouble => ({
    code,
    message:
      `${message}. ${remedies[code](asked, fieldsBehind(error, asked.operation))}${again(code, asked)}`.trimEnd(),
    afterMs,
  });
  if (error instanceof TokenUnavailable) {
    return { code: error.code, message: error.message, afterMs: Math.max(error.afterMs, 1_000), isUnsent: true };
  }
  if (error instanceof RideApiError) {
    return trouble(codeOfRefusal[error.code], error.message, error.retryAfterMs);
  }
  if (error instanceof QuietTime)
    return { ...trouble('upstreamUnavailable', error.message, error.leftMs), isUnsent: true };
  if (error instanceof RideApiUnreachable) return trouble('upstreamUnavailable', error.message);
  if (error instanceof SealingError) {
    return { code: 'credentialsRejected', message: `${error.message}. ${sealingRemedy}` };
  }
  const isUnreadable =
    error instanceof RideApiGarbled || error instanceof UnusableReply || error instanceof InvalidInput;
  return isUnreadable ? trouble('unreadableStatus', error.message) : undefined;
}

/** The ports of activities that look at the service. */
export interface LookingPorts {
  /** Throws a retryable failure when this process does not hold the account. */
  account(name: AccountName): Account;
  /** No wait is longer, whatever the service says. Default: see `defaultMaxWaitMs`. */
  longestWaitMs?: number;
  now?: WallClock;
  random?: () => number;
}

/** One look of an activity at the service. */
interface Look<Seen> {
  /** The trouble that the run shows: finding it again is no news. */
  shown: AttentionCode | null;
  /** The streak of the previous attempt; null if it had no trouble. */
  before: FailureStreak | null;
  /** The request goes out even if the wait of `before` is not over. */
  isUrgent?: boolean;
  /** One request, and the answer for the run. May throw "not yet" instead of sending it. */
  read(): Promise<Seen>;
  /** The meaning of an error of `read`; undefined for one that is not about the service: Temporal repeats the look. */
  toTrouble(error: unknown): ReadTrouble | undefined;
  /** An answer in spite of trouble that need not be shown yet. */
  settle?(streak: FailureStreak, error: unknown): Seen | undefined;
  /** Trouble as the answer. */
  show(streak: FailureStreak): Seen;
}

/** A longer wait consists of several pieces, so that a worker with other settings can shorten it. */
const longestPieceMs = 600_000;

/** How activities look at the service, and wait between looks by Temporal's retry, which writes no history. Each attempt hands its trouble to
 *  the next one as a `FailureStreak`. */
export function createLooking({
  longestWaitMs = defaultMaxWaitMs,
  now = wallMs,
  random = Math.random,
}: Pick<LookingPorts, 'longestWaitMs' | 'now' | 'random'>) {
  /** The clock of this worker may be behind the server's, which scheduled the attempt. */
  const present = (): number => Math.max(now(), activityInfo().currentAttemptScheduledTimestampMs);

  /** Must a person see the streak now? Throws until its wait is over. */
  function isDue(streak: FailureStreak, shown: AttentionCode | null): boolean {
    const verdict = judge(streak, shown, present());
    if (verdict.act === 'wait') throw troubled(streak, Math.min(verdict.waitMs, longestPieceMs));
    return verdict.act === 'raise';
  }

  function after(before: FailureStreak | null, trouble: ReadTrouble, shown: AttentionCode | null): FailureStreak {
    const afterMs = trouble.afterMs && Math.min(trouble.afterMs, longestWaitMs);
    return streakAfter(before, { ...trouble, afterMs }, { shown, now: present(), random: random() });
  }

  return {
    now,

    untilMs: (instant: string): number => Math.max(0, Date.parse(instant) - present()),

    /** The pace of looks, and the longest pause that it makes. */
    jittered: (ms: number): number => ms * (1 + random() * jitterShare),
    slowest: (ms: number): number => ms * (1 + jitterShare),

    /** How long the input still forbids a request; 0 if it does not. `ownMs`: the longest pause of our own. */
    leftMs(notBefore: string | null, ownMs = 0): number {
      if (notBefore === null) return 0;
      const latest = activityInfo().scheduledTimestampMs + Math.max(longestWaitMs, ownMs);
      const until = Math.min(Date.parse(notBefore), latest);
      return Math.max(0, until - present()) || 0; // an unreadable instant forbids nothing
    },

    /** Throws "not yet". */
    wait(waitMs: number): never {
      throw notYet(`Waits until ${utcText(present() + waitMs)}.`, Math.min(waitMs, longestPieceMs));
    },

    /** The streak in the heartbeat details, with its wait cut to today's limit; for activities that put nothing else there. */
    leftBehind(): FailureStreak | null {
      const left = (activityInfo().heartbeatDetails ?? null) as FailureStreak | null;
      const latest = present() + longestWaitMs;
      if (left === null || Date.parse(left.notBefore) <= latest) return left;
      const streak = { ...left, notBefore: iso(latest) };
      heartbeat(streak); // or the next attempt would wait as long again
      return streak;
    },

    /** Waits for the end of the previous trouble, then reads once. Shows trouble that has lasted too long, and throws other trouble. */
    async look<Seen>({ shown, before, isUrgent = false, read, toTrouble, settle, show }: Look<Seen>): Promise<Seen> {
      if (before && !isUrgent && isDue(before, shown)) return show(before);
      try {
        const seen = await read();
        if (before) heartbeat(null);
        return seen;
      } catch (error) {
        const trouble = toTrouble(error);
        if (!trouble) throw error;
        const streak = after(before, trouble, shown);
        const settled = settle?.(streak, error);
        if (settled) return settled;
        heartbeat(streak);
        if (isDue(streak, shown)) return show(streak);
        throw troubled(streak, 1);
      }
    },
  };
}

function troubled({ code, message, since, failures }: FailureStreak, waitMs: number) {
  const attempts = failures > 0 ? ` Attempt ${failures} since ${since}.` : '';
  return plainFailure({ type: toFailureType(code), message: `${message}${attempts}`, nextRetryDelay: toDelay(waitMs) });
}
