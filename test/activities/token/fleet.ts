import { createTemporalClock, passedAtServer } from '../../../src/activities/temporal-clock.js';
import { createTokenSource, type TokenLeases, type TokenSource } from '../../../src/activities/token.js';
import { toScope } from '../../../src/domain/keys.js';
import {
  emptyLease,
  isAboutCurrent,
  refusalOf,
  renewAheadMs,
  type SealedToken,
  type TokenLease,
  type TokenRequestTrouble,
  withToken,
  withTrouble,
} from '../../../src/domain/token-lease.js';
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

interface Run {
  lease: TokenLease;
  isAsked: boolean;
  isOpen: boolean;
  isBusy: boolean;
}

/** The `accessToken` workflow and the token endpoint behind it, as far as readers can tell. */
export class TokenFleet {
  readonly requests: TokenRequest[] = [];
  reads = 0;
  /** Tokens that another one was asked for, in order. */
  readonly asked: (string | null)[] = [];
  lifetimeMs = 3_600_000;
  /** How long the service takes to answer. */
  answerMs = 200;
  /** What it answers instead of a token. */
  trouble: Omit<TokenRequestTrouble, 'message'> | null = null;
  /** How far the clock of Temporal's server is ahead of the right time. */
  serverAheadMs = 0;
  /** What reading a lease throws. */
  unreadable: Error | null = null;
  readonly leases: TokenLeases = {
    read: async () => {
      this.reads += 1;
      if (this.unreadable) throw this.unreadable;
      return structuredClone(this.memo);
    },
    renew: async (_key, insteadOf) => {
      this.asked.push(insteadOf);
      if (!this.run?.isOpen) {
        this.run = { lease: emptyLease, isAsked: false, isOpen: true, isBusy: false };
        this.memo = null; // a run that has just started has no memo, and it is the one that `describe` finds
      }
      this.run.isAsked ||= isAboutCurrent(this.run.lease, { insteadOf });
      void this.work();
    },
  };
  private run: Run | undefined;
  private memo: TokenLease | null = null;
  private hasWorker = true;
  private readonly clock: Clock;

  serverNow = (): number => this.clock.now() + this.serverAheadMs;

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

  /** Another process of the fleet, with nothing in its memory; its monotonic clock began so much earlier. */
  newProcess(aheadMs = 0, passed: () => number | undefined = () => this.serverNow()): TokenSource {
    const monotonic = () => this.clock.now() + aheadMs;
    const server = createTemporalClock(monotonic);
    const ownLease = accessTokenId({ account: account.name, scope, credentialId: 'c-1' });
    const source = createTokenSource({
      leases: this.leases,
      unseal: async (sealed, leaseId) => {
        if (leaseId !== ownLease) throw new Error('not sealed for it');
        return sealed.replace('sealed', 'clear');
      },
      credentialId: () => 'c-1',
      monotonic,
      server,
      sleep: this.clock.sleep,
    });
    return {
      get: (...asked) => {
        server.add(passed());
        return source.get(...asked);
      },
    };
  }

  /** The loop of the workflow: see `src/workflows/access-token.ts`. */
  private async work(): Promise<void> {
    const { run } = this;
    if (!run || run.isBusy) return;
    run.isBusy = true;
    while (run.isOpen && this.hasWorker && run.isAsked) {
      const lease = await this.renewed(run.lease);
      if (!run.isOpen) break;
      run.isAsked = false;
      run.lease = { ...lease, publishedAt: iso(this.serverNow()) };
      this.memo = structuredClone(run.lease);
    }
    run.isBusy = false;
  }

  private async renewed(lease: TokenLease): Promise<TokenLease> {
    const { clock, lifetimeMs, answerMs } = this;
    const refusal = refusalOf(lease, this.serverNow());
    if (refusal) return { ...lease, failure: refusal };
    const isFirstOfRun = lease.renewals === 0;
    const request: TokenRequest = { at: clock.now(), before: lease.token, obtained: null, isFirstOfRun };
    this.requests.push(request);
    const id = `token-${this.requests.length}`;
    if (answerMs > 0) await clock.sleep(answerMs);
    const { trouble } = this;
    if (trouble) return withTrouble(lease, { ...trouble, message: `${trouble.code} it is` }, this.serverNow());
    const renewAfterMs = lifetimeMs - renewAheadMs(lifetimeMs, 60_000);
    const obtained = { id, sealed: `sealed ${id}`, ageMs: answerMs, renewAfterMs, lifetimeMs };
    const after = withToken(lease, obtained, this.serverNow());
    request.obtained = after.token;
    return after;
  }
}

/** A process whose calls belong to no activity, or to that of the test. */
export const ofActivity = passedAtServer;
