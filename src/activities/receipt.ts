import { activityInfo, cancellationSignal, heartbeat } from '@temporalio/activity';
import { toReceiptAmounts } from '../contracts/kept-answer.js';
import { InvalidInput } from '../domain/errors.js';
import type { FailureStreak, ReadTrouble } from '../domain/failure-streak.js';
import { iso } from '../domain/instant.js';
import {
  type ReceiptLookInput,
  type ReceiptObservation,
  type ReceiptTroubleCode,
  receiptPaceMs,
} from '../domain/report.js';
import type { RideApi } from '../ride-api/ride-api.js';
import type { AuthorizedCall } from './authorized-call.js';
import { notYet } from './failures.js';
import { createLooking, type LookingPorts, toReadTrouble } from './looking.js';

/** The ports of the activities. */
export interface ReceiptActivityPorts extends LookingPorts {
  rideApi: Pick<RideApi, 'readReceipt' | 'scopeOf'>;
  call: AuthorizedCall;
  /** Are receipts recorded in a store? */
  stores?: boolean;
}

/** The activities that read receipts, as workflows see them. */
export type ReceiptActivities = ReturnType<typeof createReceiptActivities>;

/**
 * Activities that look at a receipt. They complete with the receipt, or with trouble that has lasted too long. Otherwise Temporal's retry
 * repeats them without history events, and the heartbeat details carry state from attempt to attempt.
 */
export function createReceiptActivities({ rideApi, call, stores = false, ...ports }: ReceiptActivityPorts) {
  const looking = createLooking(ports);
  const { now } = looking;

  async function look(input: ReceiptLookInput, isOneShot: boolean): Promise<ReceiptObservation> {
    const { attempt: reads } = activityInfo();
    const { shown } = input;
    const before = looking.leftBehind();

    /** Trouble that the run shows already is an answer to a single read, and no news to a continued look. */
    function found(code: ReceiptTroubleCode, message: string, streak?: FailureStreak): ReceiptObservation {
      const paceMs = looking.jittered(receiptPaceMs(code, isOneShot ? 0 : reads));
      const askedMs = streak?.isLongWait ? looking.untilMs(streak.notBefore) : 0;
      if (before) heartbeat(null);
      if (code === shown && !isOneShot) throw notYet(`Still ${code}.`, Math.max(paceMs, askedMs));
      const at = now();
      const notBefore = streak?.notBefore ?? iso(at + paceMs);
      return { kind: 'trouble', trouble: { code, message, since: iso(at) }, notBefore, reads };
    }

    return await looking.look<ReceiptObservation>({
      shown: null,
      before,
      async read() {
        const leftMs = before ? 0 : looking.leftMs(input.notBefore, shown ? looking.slowest(receiptPaceMs(shown)) : 0);
        if (leftMs > 0) looking.wait(leftMs);
        const account = ports.account(input.account);
        const signal = cancellationSignal();
        const receipt = await call(account, rideApi.scopeOf(account, 'orderReceipt'), (token) =>
          rideApi.readReceipt(account, input.orderId, token, signal),
        );
        const amounts = stores ? { amounts: toReceiptAmounts(receipt) } : {};
        return { kind: 'receipt', receipt, at: iso(now()), reads, ...amounts };
      },
      toTrouble: (error) => asReceipts(toReadTrouble(error, { account: input.account, operation: 'orderReceipt' })),
      settle(streak, error) {
        if (error instanceof InvalidInput) return found('notOffered', error.message);
        return toCode(streak) === shown ? found(shown, streak.message, streak) : undefined;
      },
      show(streak) {
        const { message, since, notBefore } = streak;
        return { kind: 'trouble', trouble: { code: toCode(streak), message, since }, notBefore, reads };
      },
    });
  }

  return {
    /** One read, repeated while trouble may pass by itself. */
    readReceipt: (input: ReceiptLookInput): Promise<ReceiptObservation> => look(input, true),

    /** Looks until it finds a receipt, or other trouble than the run shows. */
    awaitReceipt: (input: ReceiptLookInput): Promise<ReceiptObservation> => look(input, false),
  };
}

const toCode = ({ code }: FailureStreak): ReceiptTroubleCode => (code === 'orderNotFound' ? 'notReady' : code);

const asReceipts = (trouble: ReadTrouble | undefined): ReadTrouble | undefined =>
  trouble?.code === 'orderNotFound'
    ? {
        ...trouble,
        message:
          'The service has no receipt of this order yet, or operations.orderReceipt.path in the contract profile is wrong.',
      }
    : trouble;
