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
import { iso } from '../temporal.js';
import type { Clock } from './clock.js';

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

/** Of a call that was answered with 401 on this token. */
export const rejectedCall = (tokenId: string | undefined, operation = 'readOrder'): RejectedCall | undefined =>
  tokenId === undefined ? undefined : { tokenId, operation, hasServed: false };

interface Run {
  lease: TokenLease;
  wishes: RenewalWish[];
  isOpen: boolean;
  isBusy: boolean;
}

/** The `accessToken` workflow and the token endpoint behind it, as far as readers can tell. */
export class TokenFleet {
  readonly requests: TokenRequest[] = [];
  reads = 0;
  /** Tokens that another one was asked for, in order. */
  readonly wishes: (string | null)[] = [];
  lifetimeMs = 3_600_000;
  /** How long the service takes to answer. */
  answerMs = 200;
  /** What it answers instead of a token. */
  trouble: { code: TokenFailure['code']; retryAfterMs: number | null } | null = null;
  /** What reading a lease throws. */
  unreadable: Error | null = null;
  /** By how much the clock of the process that requests tokens goes ahead. */
  requesterAheadMs = 0;
  readonly leases: TokenLeases = {
    read: async () => {
      this.reads += 1;
      if (this.unreadable) throw this.unreadable;
      return structuredClone(this.memo);
    },
    renew: async (_key, wish) => {
      this.wishes.push(wish.insteadOf);
      if (!this.run?.isOpen) {
        this.run = { lease: emptyLease, wishes: [], isOpen: true, isBusy: false };
        this.memo = null; // a run that has just started has no memo, and it is the one that `describe` finds
      }
      this.run.wishes.push(wish);
      void this.work();
    },
  };
  private run: Run | undefined;
  private memo: TokenLease | null = null;
  private hasWorker = true;
  private readonly clock: Clock;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Does a worker run that takes the workflow's tasks? */
  set isWorked(value: boolean) {
    this.hasWorker = value;
    void this.work(); // what waited in the task queue is taken now
  }

  terminate(): void {
    if (this.run) this.run.isOpen = false;
  }

  /** Another process of the fleet, with nothing in its memory; its clock goes ahead by so much. */
  newProcess(aheadMs = 0): TokenSource {
    const ownLease = accessTokenId({ account: account.name, scope, credentialId: 'c-1' });
    return createTokenSource({
      leases: this.leases,
      unseal: async ({ sealed, id }, leaseId) => {
        if (leaseId !== ownLease) throw new Error('not sealed for it');
        if (sealed !== `sealed ${id}`) throw new Error('altered');
        return `clear ${id}`;
      },
      credentialId: () => 'c-1',
      now: () => this.clock.now() + aheadMs,
      sleep: this.clock.sleep,
    });
  }

  /** The loop of the workflow: one round for all wishes that came meanwhile. */
  private async work(): Promise<void> {
    const { run } = this;
    if (!run || run.isBusy) return;
    run.isBusy = true;
    while (run.isOpen && this.hasWorker && run.wishes.length > 0) {
      const verdict = judgeWishes(run.lease, run.wishes.splice(0), this.clock.now());
      if (verdict.act === 'ignore') continue;
      let { lease } = run;
      if (verdict.act === 'request') lease = await this.renewed(lease);
      if (verdict.act === 'fail') lease = { ...lease, failure: verdict.failure };
      if (!run.isOpen) break;
      run.lease = { ...lease, publishedAt: iso(this.clock.now()) };
      this.memo = structuredClone(run.lease);
    }
    run.isBusy = false;
  }

  /** As the workflow renews: see `src/workflows/access-token.ts`. */
  private async renewed(lease: TokenLease): Promise<TokenLease> {
    const token = await this.requestToken(lease);
    const now = this.clock.now();
    if (token) return withToken(lease, token, now);
    const { code, retryAfterMs } = this.trouble ?? { code: 'upstreamUnavailable', retryAfterMs: null };
    return withFailure(lease, toTokenFailure({ code, message: `${code} it is`, retryAfterMs }, lease, now));
  }

  private async requestToken(lease: TokenLease): Promise<SealedToken | null> {
    const { clock, lifetimeMs, answerMs } = this;
    const requestedAt = clock.now() + this.requesterAheadMs;
    const isFirstOfRun = lease.renewals === 0;
    const request: TokenRequest = { at: clock.now(), before: lease.token, obtained: null, isFirstOfRun };
    this.requests.push(request);
    const id = `token-${this.requests.length}`;
    if (answerMs > 0) await clock.sleep(answerMs);
    if (this.trouble) return null;
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
}
