import {
  createTokenSource,
  type RejectedCall,
  type TokenLeases,
  type TokenSource,
} from '../../../src/activities/token-source.js';
import { toScope } from '../../../src/domain/keys.js';
import {
  emptyLease,
  judgeWishes,
  onLeaseClock,
  type RenewalWish,
  renewAheadMs,
  type SealedToken,
  type TokenFailure,
  type TokenLease,
  toTokenFailure,
  withFailure,
  withToken,
} from '../../../src/domain/token/lease.js';
import { accessTokenId } from '../../../src/domain/workflow-ids.js';
import { partnerAccount } from '../../ride-api/accounts.js';
import type { Clock } from '../clock.js';

export const account = partnerAccount();
export const scope = toScope('demand_partner');

/** A token request that reached the service, and what the lease had before it. */
export interface TokenRequest {
  at: number;
  before: SealedToken | null;
  obtained: SealedToken | null;
  /** The first request of its run, which knew of no token before. */
  isFirstOfRun: boolean;
}

/** The `accessToken` workflow and the token endpoint behind it, as far as readers can tell. */
export interface TokenFleet {
  leases: TokenLeases;
  requests: TokenRequest[];
  reads: number;
  /** Tokens that another one was asked for, in order. */
  wishes: (string | null)[];
  lifetimeMs: number;
  /** How long the service takes to answer. */
  answerMs: number;
  /** What it answers instead of a token. */
  trouble: { code: TokenFailure['code']; retryAfterMs: number | null } | null;
  /** What reading a lease throws. */
  unreadable: Error | null;
  /** Does a worker run that takes the workflow's tasks? */
  isWorked: boolean;
  terminate(): void;
  /** Another process of the fleet, with nothing in its memory; its clock goes ahead by so much. */
  newProcess(aheadMs?: number): TokenSource;
  /** By how much the clock of the process that requests tokens goes ahead. */
  requesterAheadMs: number;
}

/** Of a call that was answered with 401 on this token. */
export const rejectedCall = (tokenId: string | undefined, operation = 'readOrder'): RejectedCall | undefined =>
  tokenId === undefined ? undefined : { tokenId, operation, hasServed: false };

const iso = (epochMs: number): string => new Date(epochMs).toISOString();

interface Run {
  lease: TokenLease;
  wishes: RenewalWish[];
  isOpen: boolean;
  isBusy: boolean;
}

export function createTokenFleet(clock: Clock): TokenFleet {
  let run: Run | undefined;
  let memo: TokenLease | null = null;
  let isWorked = true;

  /** The loop of the workflow: one round for all wishes that came meanwhile. */
  async function work(current: Run): Promise<void> {
    if (current.isBusy) return;
    current.isBusy = true;
    while (current.isOpen && isWorked && current.wishes.length > 0) {
      const verdict = judgeWishes(current.lease, current.wishes.splice(0), clock.now());
      if (verdict.act === 'ignore') continue;
      let { lease } = current;
      if (verdict.act === 'request') lease = await renew(lease, fleet, clock);
      if (verdict.act === 'fail') lease = { ...lease, failure: verdict.failure };
      if (!current.isOpen) break;
      current.lease = { ...lease, publishedAt: iso(clock.now()) };
      memo = structuredClone(current.lease);
    }
    current.isBusy = false;
  }

  const leases: TokenLeases = {
    async read() {
      fleet.reads += 1;
      if (fleet.unreadable) throw fleet.unreadable;
      return structuredClone(memo);
    },
    async renew(_key, wish) {
      fleet.wishes.push(wish.insteadOf);
      if (!run?.isOpen) {
        run = { lease: emptyLease, wishes: [], isOpen: true, isBusy: false };
        memo = null; // a run that has just started has no memo, and it is the one that `describe` finds
      }
      run.wishes.push(wish);
      void work(run);
    },
  };

  const fleet: TokenFleet = {
    leases,
    requests: [],
    reads: 0,
    wishes: [],
    lifetimeMs: 3_600_000,
    answerMs: 200,
    trouble: null,
    unreadable: null,
    get isWorked() {
      return isWorked;
    },
    set isWorked(value) {
      isWorked = value;
      if (run) void work(run); // what waited in the task queue is taken now
    },
    terminate() {
      if (run) run.isOpen = false;
    },
    newProcess: (aheadMs = 0) => newProcess(leases, { ...clock, now: () => clock.now() + aheadMs }),
    requesterAheadMs: 0,
  };
  return fleet;
}

/** As the workflow renews: see `src/workflows/access-token.ts`. */
async function renew(lease: TokenLease, fleet: TokenFleet, clock: Clock): Promise<TokenLease> {
  const fail = (code: TokenFailure['code'], retryAfterMs: number | null): TokenLease =>
    withFailure(lease, toTokenFailure({ code, message: `${code} it is`, retryAfterMs }, lease, clock.now()));
  const token = await requestToken(lease, fleet, clock);
  if (token) return withToken(lease, token, clock.now());
  return fail(fleet.trouble?.code ?? 'upstreamUnavailable', fleet.trouble?.retryAfterMs ?? null);
}

async function requestToken(lease: TokenLease, fleet: TokenFleet, clock: Clock): Promise<SealedToken | null> {
  const requestedAt = clock.now() + fleet.requesterAheadMs;
  const isFirstOfRun = lease.renewals === 0;
  const request: TokenRequest = { at: clock.now(), before: lease.token, obtained: null, isFirstOfRun };
  fleet.requests.push(request);
  const id = `token-${fleet.requests.length}`;
  const { lifetimeMs, answerMs } = fleet;
  if (answerMs > 0) await clock.sleep(answerMs);
  if (fleet.trouble) return null;
  const expiresAt = requestedAt + lifetimeMs;
  const obtained = {
    id,
    sealed: `sealed ${id}`,
    requestedAt: iso(requestedAt),
    renewAt: iso(expiresAt - renewAheadMs(lifetimeMs, 60_000)),
    expiresAt: iso(expiresAt),
    grantedScope: null,
    ageMs: answerMs,
  };
  request.obtained = onLeaseClock(obtained, clock.now());
  return request.obtained;
}

function newProcess(leases: TokenLeases, { now, sleep }: Pick<Clock, 'now' | 'sleep'>): TokenSource {
  const ownLease = accessTokenId({ account: account.name, scope, credentialId: 'c-1' });
  return createTokenSource({
    leases,
    unseal: async ({ sealed, id }, leaseId) => {
      if (leaseId !== ownLease) throw new Error('not sealed for it');
      if (sealed !== `sealed ${id}`) throw new Error('altered');
      return `clear ${id}`;
    },
    credentialId: () => 'c-1',
    now,
    sleep,
  });
}
