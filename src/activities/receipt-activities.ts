import { activityInfo, cancellationSignal, heartbeat } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { Account } from '../domain/account.js';
import {
  type ReceiptLookInput,
  type ReceiptObservation,
  type ReceiptTroubleCode,
  receiptPaceMs,
} from '../domain/company-report.js';
import { InvalidInput } from '../domain/errors.js';
import type { AccountName } from '../domain/keys.js';
import { judge, type Struggle, struggleAfter, type TroubleCode } from '../domain/struggle.js';
import { notYet, toDelay } from './not-yet.js';
import { toFailureType, toReadTrouble } from './read-trouble.js';
import type { ReceiptReader } from './receipt-reader.js';

/** What the activities below work with. */
export interface ReceiptActivityPorts {
  /** Throws a retryable failure when this process does not hold the account. */
  account(name: AccountName): Account;
  readReceipt: ReceiptReader;
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
  now = Date.now,
  random = Math.random,
}: ReceiptActivityPorts) {
  async function look(input: ReceiptLookInput, isOneShot: boolean): Promise<ReceiptObservation> {
    const { attempt, heartbeatDetails } = activityInfo();
    const before = (heartbeatDetails ?? null) as Struggle | null;
    const raised = before ? raiseOrWait(before, attempt) : waitUntil(input.notBefore);
    if (raised) return raised;
    try {
      const receipt = await readReceipt(account(input.account), input.orderId, cancellationSignal());
      return { kind: 'receipt', receipt, at: iso(now()), reads: attempt };
    } catch (error) {
      if (error instanceof InvalidInput) return found('notOffered', error.message, isOneShot);
      const trouble = toReadTrouble(
        error,
        { account: input.account, shown: { rawStatus: null, attention: null } },
        now(),
      );
      if (!trouble) throw error;
      const struggle = struggleAfter(before, trouble, { shown: null, now: now(), random: random() });
      if (toCode(trouble.code) === input.shown) return found(input.shown, messageOf(struggle), isOneShot, struggle);
      heartbeat(struggle);
      return raiseOrWait(struggle, attempt) ?? fail(struggle, 1);
    }

    /** What is shown already is an answer for who waits for one, and nothing new for who only looks on. */
    function found(code: ReceiptTroubleCode, message: string, isAnswer: boolean, struggle?: Struggle) {
      const paceMs = receiptPaceMs(code) * (1 + random() * jitterShare);
      if (before) heartbeat(null);
      if (code === input.shown && !isAnswer) throw notYet(`Still ${code}.`, paceMs);
      const notBefore = struggle?.notBefore ?? iso(now() + paceMs);
      const trouble = { code, message, since: iso(now()) };
      return { kind: 'trouble', trouble, notBefore, reads: attempt } as const;
    }
  }

  function waitUntil(notBefore: string | null): undefined {
    const waitMs = notBefore === null ? 0 : Date.parse(notBefore) - now();
    if (waitMs > 0) throw notYet(`Waits until ${notBefore}.`, waitMs);
  }

  function raiseOrWait(struggle: Struggle, reads: number): ReceiptObservation | undefined {
    const verdict = judge(struggle, null, now());
    if (verdict.act === 'wait') return fail(struggle, verdict.waitMs);
    if (verdict.act === 'look') return undefined;
    const { code, since, notBefore } = struggle;
    const trouble = { code: toCode(code), message: messageOf(struggle), since };
    return { kind: 'trouble', trouble, notBefore: Date.parse(notBefore) > now() ? notBefore : iso(now()), reads };
  }

  return {
    /** One read, repeated while trouble may pass by itself. */
    readReceipt: (input: ReceiptLookInput): Promise<ReceiptObservation> => look(input, true),

    /** Looks now and then, until there is a receipt or another trouble than the one shown. */
    awaitReceipt: (input: ReceiptLookInput): Promise<ReceiptObservation> => look(input, false),
  };
}

const toCode = (code: TroubleCode): ReceiptTroubleCode => (code === 'orderNotFound' ? 'notReady' : code);

const messageOf = ({ code, message }: Struggle): string =>
  code === 'orderNotFound' ? 'The service has no receipt of this order yet.' : message;

function fail(struggle: Struggle, waitMs: number): never {
  throw ApplicationFailure.create({
    type: toFailureType(struggle.code),
    message: `${messageOf(struggle)} Attempt ${struggle.failures} since ${struggle.since}.`,
    nextRetryDelay: toDelay(waitMs),
  });
}
