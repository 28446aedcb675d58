import {
  ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  condition,
  isCancellation,
  proxyActivities,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow';
import type { RideChangeActivities } from '../../activities/runs.js';
import type { DoubtDetails, ServiceCall } from '../../domain/call.js';
import { shownText } from '../../domain/json.js';
import type { OrderId } from '../../domain/keys.js';
import {
  type ChangeRideInput,
  parseChangeRideInput,
  parseRequestRideInput,
  type RequestRideInput,
} from '../../domain/ride/input.js';
import type { QuotedPrice } from '../../domain/ride/quote.js';
import {
  givenUp,
  openRide,
  outcomeUnknown,
  type RideDoubt,
  type RideResult,
  type RideStanding,
  rideCallId,
  toRideResult,
} from '../../domain/ride/ride.js';
import { requestRideId } from '../../domain/workflow-ids.js';
import { waitingOptions } from '../activity-options.js';
import { doubtOutlivesRefusals, ownQuote, performCall, wasReset } from '../business-call.js';
import { continueRun, isTimeToContinue, refuseBadInput, requireWorkflowId } from '../run-kit.js';
import { writeAccount } from '../search-attributes.js';
import { settle } from '../settling.js';
import { awaitEnd, followAgain, startFollowing } from './following.js';
import { listen } from './inbox.js';
import { readReceipt } from './receipt.js';
import {
  type CarriedRide,
  carryRide,
  createRideNotifier,
  defaultLimits,
  type RequestRideLimits,
  type Ride,
  setStanding,
  showsWaiting,
} from './state.js';

/** What a run hands to the next one when it continues as new; tests set it too. Plain JSON. */
export interface RequestRideProgress {
  limits?: Partial<RequestRideLimits>;
  carried?: CarriedRide;
}

/**
 * The whole life of one ride: orders it, follows the order to its end, reads the receipt. It never books twice by itself:
 * a create whose outcome is unknown waits for `resolveRide`. Fails with `InvalidInput` (names the field), with the failure
 * of a create that was refused, and with `OutcomeUnknown` once a person gave up; never for the run that follows its order.
 */
export async function requestRide(input: RequestRideInput, progress?: RequestRideProgress): Promise<RideResult> {
  const ride = open(input, progress);
  listen(ride);
  try {
    await orderRide(ride);
    forgetBody(ride, input);
    await followRide(ride);
    await readReceipt(ride, () => continueIfLong(ride));
  } catch (error) {
    if (error instanceof ApplicationFailure) ride.failure = error;
    ride.isCancelled = isCancellation(error);
    // With any other error the run continues as new, or Temporal repeats its task.
    if (ride.failure || ride.isCancelled) await close(ride);
    throw error;
  }
  await close(ride);
  return toRideResult(ride.standing, ride.trail, ride.report?.receipt ?? null);
}

function open(rawInput: RequestRideInput, { limits, carried }: RequestRideProgress = {}): Ride {
  const input = refuseBadInput(() => parseRequestRideInput(rawInput));
  requireWorkflowId(requestRideId(input));
  if (!carried) writeAccount(input.account);
  const ride: Ride = {
    input,
    limits: { ...defaultLimits, ...limits },
    notifier: createRideNotifier(input, carried),
    standing: carried?.standing ?? openRide(input),
    trail: carried?.trail ?? null,
    report: carried?.report ?? null,
    receiptTimes: carried?.receiptTimes ?? null,
    attempts: carried?.attempts ?? { made: 0 },
    isSent: carried !== undefined,
    isWithdrawn: false,
    isEndTold: false,
    checks: 0,
    resolution: null,
    resolvedBy: null,
    isResolving: false,
    changes: Promise.resolve(),
    failure: null,
    isCancelled: false,
  };
  return ride;
}

/** Ends when the service has named the order, or a caller withdrew the ride before the first request. */
async function orderRide(ride: Ride): Promise<void> {
  while (ride.standing.orderId === null) {
    if (ride.isWithdrawn && !(await wasReset())) return;
    if (ride.isWithdrawn) {
      showOutcomeUnknown(ride, {
        reason: 'This run was reset to a point before the create, which another run may have sent.',
      });
      // From now on only the service can cancel. In 0.2.0 one more cancel withdrew the ride, even if a person named its
      // order afterwards.
      ride.isSent = doubtOutlivesRefusals();
    }
    await (ride.standing.attention === null ? create(ride) : awaitResolution(ride));
  }
}

function showOutcomeUnknown(ride: Ride, doubt: RideDoubt & { quoted?: Partial<QuotedPrice> }): void {
  ride.isWithdrawn = false;
  // An answer that named an order may be followed by one that names none.
  const suggestedOrderId = doubt.suggestedOrderId ?? ride.standing.suggestedOrderId ?? undefined;
  setStanding(ride, {
    attention: outcomeUnknown(ride.standing, { ...doubt, suggestedOrderId }, new Date().toISOString()),
    ...doubt.quoted,
    ...(suggestedOrderId === undefined ? {} : { suggestedOrderId }),
  });
}

/** A cancellation of the run does not interrupt it, since the ride must know and follow an order that the service made. */
async function create(ride: Ride): Promise<void> {
  ride.isSent = true;
  const { input, standing, attempts, resolvedBy: updateId } = ride;
  const { account, order, quote: isQuoted } = input;
  const asked = { account, operation: 'createOrder', body: order, requestId: rideCallId(standing) } as const;
  const call: ServiceCall = { ...asked, ...(isQuoted ? { withQuote: true } : ownQuote(asked)) };
  let quoted: Partial<QuotedPrice> = {};
  const onQuote = (quote: QuotedPrice): void => {
    quoted = quote;
  };
  const onStore = (): void => void ride.notifier.addStore(ride);
  // A person asks for a create only where an earlier one may have placed the order.
  const isInDoubt = updateId !== null && doubtOutlivesRefusals();
  try {
    const { orderId } = await CancellationScope.nonCancellable(() =>
      performCall(call, showsWaiting(ride), { attempts, updateId, isInDoubt, onStore, onQuote }),
    );
    if (orderId === undefined)
      throw ApplicationFailure.nonRetryable('createOrder: the service named no order in its answer.', 'OutcomeUnknown');
    setStanding(ride, { ...named(ride, orderId), ...quoted });
  } catch (error) {
    if (!(error instanceof ApplicationFailure)) throw error;
    if (error.type !== 'OutcomeUnknown') throw error;
    const [doubt] = (error.details ?? []) as [DoubtDetails?];
    showOutcomeUnknown(ride, {
      reason: doubt?.reason ?? error.message,
      isRepeated: isInDoubt,
      suggestedOrderId: doubt?.namedOrderId,
      quoted,
    });
  }
}

/** The order is known, so none is suggested any more. */
const named = ({ standing }: Ride, orderId: OrderId): Partial<RideStanding> => ({
  orderId,
  ...(standing.suggestedOrderId ? { suggestedOrderId: null } : {}),
});

/** Waits for a person without a time limit. */
async function awaitResolution(ride: Ride): Promise<void> {
  await condition(() => ride.resolution !== null || isLong(ride));
  const { resolution } = ride;
  if (resolution === null) return await continueIfLong(ride);
  ride.resolution = null;
  if ('giveUp' in resolution) {
    throw ApplicationFailure.nonRetryable(`${givenUp}: ${shownText(resolution.reason)}`, 'OutcomeUnknown');
  }
  setStanding(ride, {
    attention: null,
    ...('orderId' in resolution ? named(ride, resolution.orderId) : {}),
  });
}

/** The body may be big, and the run stays in the memory of a worker for as long as the ride lasts; `given` is held by the SDK. */
function forgetBody(ride: Ride, given: RequestRideInput): void {
  const order = { scheduled_at: ride.input.order.scheduled_at ?? null };
  const { quote: _, ...input } = ride.input; // a quote is read together with the body
  ride.input = { ...input, order };
  Object.assign(given, { order });
}

async function followRide(ride: Ride): Promise<void> {
  if (ride.isWithdrawn) return setStanding(ride, { outcome: 'withdrawn' });
  if (ride.standing.stage === 'requesting') {
    await CancellationScope.nonCancellable(() => startFollowing(ride));
    setStanding(ride, { stage: 'following' });
  }
  while (ride.standing.stage === 'following') {
    const end = await awaitEnd(ride, () => isLong(ride));
    if (end === undefined) {
      await continueIfLong(ride);
    } else if (end.kind === 'failed') {
      await followAgain(ride, end);
    } else {
      ride.trail = end.trail;
      const { status, outcome } = end.trail;
      setStanding(ride, { stage: 'receipt', status, outcome });
    }
  }
}

/**
 * Answers all waiting callers, whose updates would fail without a reason after the end of the run, and tells the last notice.
 *
 * While some callers wait, this task would have no command. If an update came next, a worker that does not know the run would run both
 * tasks as one, and a replay would not (SDK 1.24.0, sdk-core 1146): commands in another order block the run. So the memo makes a command.
 */
async function close(ride: Ride): Promise<void> {
  if (!allHandlersFinished()) upsertMemo({ stage: 'ended' });
  setStanding(ride, { stage: 'ended', attention: null });
  await CancellationScope.nonCancellable(async () => {
    await condition(() => allHandlersFinished() && ride.notifier.isQuiet());
  });
}

const isLong = ({ limits }: Ride): boolean => isTimeToContinue(limits.maxEvents);

async function continueIfLong(ride: Ride): Promise<void> {
  if (!isLong(ride)) return;
  await condition(() => (allHandlersFinished() && ride.notifier.isQuiet()) || ride.resolution !== null);
  await settle();
  // This run must answer the person who decided, and other callers.
  if (ride.resolution !== null || !allHandlersFinished() || !ride.notifier.isQuiet()) return;
  await continueRun<typeof requestRide>([ride.input, { limits: ride.limits, carried: carryRide(ride) }]);
}

/**
 * Sends one update of a ride, and ends or fails with it, or with `RideNotRequested` or `AlreadyEnded`. Only the Nexus service of 0.2.0
 * started it: here for its open runs, until 0.4.0.
 */
export async function changeRide(rawInput: ChangeRideInput): Promise<RideStanding> {
  const input = refuseBadInput(() => parseChangeRideInput(rawInput));
  const { sendRideChange } = proxyActivities<RideChangeActivities>({
    ...waitingOptions,
    summary: `${input.change} of ride ${input.requestId}`,
  });
  return await sendRideChange({ ...input, updateId: workflowInfo().workflowId });
}
