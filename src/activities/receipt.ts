import { activityInfo, cancellationSignal, heartbeat } from '@temporalio/activity';
import type { Account } from '../domain/account.js';
import { InvalidInput } from '../domain/errors.js';
import type { AccountName, OrderId } from '../domain/keys.js';
import {
  type ReceiptLookInput,
  type ReceiptObservation,
  type ReceiptTroubleCode,
  receiptPaceMs,
} from '../domain/report.js';
import type { Struggle } from '../domain/struggle.js';
import { defaultMaxWaitMs } from '../ride-api/retry-decision.js';
import type { RideApi } from '../ride-api/ride-api.js';
import type { AuthorizedCall } from './authorized-call.js';
import { notYet } from './failures.js';
import { createLooking, toReadTrouble } from './looking.js';

/** One read of a receipt with the fleet's token. Throws the errors of the ride API, `TokenUnavailable`, `QuietTime`. */
type ReceiptReader = (account: Account, orderId: OrderId, signal?: AbortSignal) => Promise<Record<string, unknown>>;

interface ReceiptReaderPorts {
  rideApi: Pick<RideApi, 'readReceipt' | 'receiptScope'>;
  call: AuthorizedCall;
}

/** A reader that shares tokens and quiet times with the other calls of the account. */
export const createReceiptReader =
  ({ rideApi, call }: ReceiptReaderPorts): ReceiptReader =>
  (account, orderId, signal) =>
    call(account, rideApi.receiptScope(), 'readReceipt', (token) =>
      rideApi.readReceipt(account, orderId, token, signal),
    );

/** What the activities below work with. */
export interface ReceiptActivityPorts {
  /** Throws a retryable failure when this process does not hold the account. */
  account(name: AccountName): Account;
  readReceipt: ReceiptReader;
  /** No wait that was written down goes on for longer. */
  longestWaitMs?: number;
  now?: () => number;
  random?: () => number;
}

/** The activities that read receipts, as workflows see them. */
export type ReceiptActivities = ReturnType<typeof createReceiptActivities>;

const jitterShare = 0.1;

const iso = (epochMs: number): string => new Date(epochMs).toISOString();

/**
 * Activities that look at a receipt. They complete with the receipt, or when trouble has outlasted our patience; all else
 * is left to Temporal's retry, which writes no history. What an attempt must tell the next stands in its heartbeat.
 */
export function createReceiptActivities({
  account,
  readReceipt,
  longestWaitMs = defaultMaxWaitMs,
  now = Date.now,
  random = Math.random,
}: ReceiptActivityPorts) {
  const looking = createLooking({ longestWaitMs, now, random });

  async function look(input: ReceiptLookInput, isOneShot: boolean): Promise<ReceiptObservation> {
    const { attempt } = activityInfo();
    const before = looking.leftBehind();
    const due = before && looking.toShow(before, null);
    if (due) return toTrouble(due, attempt);
    if (!before) looking.waitUntil(input.notBefore, input.shown ? slowestPaceMs(input.shown) : 0);
    try {
      const receipt = await readReceipt(account(input.account), input.orderId, cancellationSignal());
      return { kind: 'receipt', receipt, at: iso(now()), reads: attempt };
    } catch (error) {
      if (error instanceof InvalidInput) return found('notOffered', error.message);
      const trouble = toReadTrouble(error, { account: input.account }, now());
      if (!trouble) throw error;
      const struggle = asReceipts(looking.after(before, trouble, null));
      if (toCode(struggle) === input.shown) return found(input.shown, struggle.message, struggle);
      heartbeat(struggle);
      return toTrouble(looking.showOrFail(struggle, null), attempt);
    }

    /** What is shown already is an answer for who waits for one, and nothing new for who only looks on. */
    function found(code: ReceiptTroubleCode, message: string, struggle?: Struggle): ReceiptObservation {
      const paceMs = receiptPaceMs(code) * (1 + random() * jitterShare);
      const askedMs = struggle?.isLongWait ? Date.parse(struggle.notBefore) - now() : 0;
      if (before) heartbeat(null);
      if (code === input.shown && !isOneShot) throw notYet(`Still ${code}.`, Math.max(paceMs, askedMs));
      const notBefore = struggle?.notBefore ?? iso(now() + paceMs);
      return { kind: 'trouble', trouble: { code, message, since: iso(now()) }, notBefore, reads: attempt };
    }
  }

  function toTrouble(struggle: Struggle, reads: number): ReceiptObservation {
    const { message, since, notBefore } = struggle;
    const trouble = { code: toCode(struggle), message, since };
    return { kind: 'trouble', trouble, notBefore: Date.parse(notBefore) > now() ? notBefore : iso(now()), reads };
  }

  return {
    /** One read, repeated while trouble may pass by itself. */
    readReceipt: (input: ReceiptLookInput): Promise<ReceiptObservation> => look(input, true),

    /** Looks now and then, until there is a receipt or another trouble than the one shown. */
    awaitReceipt: (input: ReceiptLookInput): Promise<ReceiptObservation> => look(input, false),
  };
}

const toCode = ({ code }: Struggle): ReceiptTroubleCode => (code === 'orderNotFound' ? 'notReady' : code);

const asReceipts = (struggle: Struggle): Struggle =>
  struggle.code === 'orderNotFound'
    ? { ...struggle, message: 'The service has no receipt of this order yet.' }
    : struggle;

const slowestPaceMs = (code: ReceiptTroubleCode): number => receiptPaceMs(code) * (1 + jitterShare);
