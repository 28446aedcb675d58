import { condition, log, setHandler } from '@temporalio/workflow';
import { type DeliveryNotice, readDeliveries } from '../../domain/delivery.js';
import { parseNoInput } from '../../domain/input-fields.js';
import type { Notify } from '../../domain/notify/receivers.js';
import { withDeliveries, withRequest } from '../../domain/order/earlier-run.js';
import {
  type FollowOrderInput,
  parseStopInput,
  type ReadFollowRequest,
  readFollowRequest,
} from '../../domain/order/input.js';
import type { OrderTrail } from '../../domain/order/trail.js';
import {
  deliveryReceivedSignal,
  followRequestedSignal,
  orderTrailQuery,
  refreshOrderUpdate,
  stopFollowingUpdate,
} from '../messages.js';
import { refuseBadInput } from '../run-kit.js';

/** What callers want of the run. Handlers write here and return; the main body decides. */
export interface OrderInbox {
  /** Reads asked for so far, by deliveries and by `refreshOrder`; a read serves all that were asked for before it. */
  asked: number;
  served: number;
  /** Callers of `refreshOrder` that wait for their read. */
  refreshing: number;
  /** Deliveries that no reading has answered yet. */
  claims: DeliveryNotice[];
  /** Ids of deliveries already counted, newest last. */
  seenDeliveries: string[];
  /** Signals taken by this run: the server counts to 10,000 and never hints at it. */
  signals: number;
  stopReason: string | null;
  /** Who is told of changes: those of the input, and those added since. Only ever added to. */
  receivers: Notify[];
  /** One line for each receiver that found no room, for the UI. */
  leftOut: string[];
  /** Callers that wait for a read are answered now: the run ends or continues as new. */
  closing: boolean;
  /** The trail has its outcome: callers that wait for the end are answered now. */
  ended: boolean;
}

/** What outlives a run that continues as new. */
export type CarriedInbox = Pick<OrderInbox, 'claims' | 'seenDeliveries' | 'stopReason'> &
  Partial<Pick<OrderInbox, 'receivers' | 'leftOut'>> & { readWanted: boolean };

/** The inbox of a new run, with what the run before it had not answered. */
export const openInbox = (notify: readonly Notify[] = [], carried?: CarriedInbox): OrderInbox => ({
  asked: carried?.readWanted ? 1 : 0,
  served: 0,
  refreshing: 0,
  claims: carried?.claims ?? [],
  seenDeliveries: carried?.seenDeliveries ?? [],
  signals: 0,
  stopReason: carried?.stopReason ?? null,
  receivers: [...(carried?.receivers ?? notify)],
  leftOut: carried?.leftOut ?? [],
  closing: false,
  ended: false,
});

export const carryInbox = (inbox: OrderInbox): CarriedInbox => ({
  claims: inbox.claims,
  seenDeliveries: inbox.seenDeliveries,
  stopReason: inbox.stopReason,
  receivers: inbox.receivers,
  leftOut: inbox.leftOut,
  readWanted: isReadWanted(inbox),
});

export const isReadWanted = (inbox: OrderInbox): boolean => inbox.asked > inbox.served;

/** The trail lives in the main body; handlers see it through this. */
export interface TrailHolder {
  /** With what callers asked for since. */
  input: FollowOrderInput;
  trail: OrderTrail;
  notifier: { welcome(receivers: Notify[], trail: OrderTrail): void };
  /** Shows what has changed in the UI. */
  show(): void;
}

/** Registers all handlers. Must run before the first await of the run. */
export function listen(run: TrailHolder, inbox: OrderInbox): void {
  setHandler(orderTrailQuery, () => run.trail);
  setHandler(deliveryReceivedSignal, (notice) => {
    inbox.signals += 1;
    recordDeliveries(run, inbox, readDeliveries(notice, new Date().toISOString()));
  });
  setHandler(followRequestedSignal, (request) => {
    inbox.signals += 1;
    heed(run, inbox, readFollowRequest(request));
  });
  setHandler(
    refreshOrderUpdate,
    async () => {
      inbox.asked += 1;
      inbox.refreshing += 1;
      const mine = inbox.asked;
      await condition(() => inbox.served >= mine || inbox.closing);
      inbox.refreshing -= 1;
      return run.trail;
    },
    { validator: (...given: unknown[]) => void refuseBadInput(() => parseNoInput(given[0])) },
  );
  setHandler(
    stopFollowingUpdate,
    async ({ reason }) => {
      inbox.stopReason ??= reason;
      await condition(() => inbox.ended);
      return run.trail;
    },
    { validator: (input) => void refuseBadInput(() => parseStopInput(input)) },
  );
}

/** Changes nothing when all of it is known. */
function heed(run: TrailHolder, inbox: OrderInbox, { request, problems }: ReadFollowRequest): void {
  if (problems.length > 0) log.warn('left out of followRequested', { problems: problems.slice(0, 10) });
  const { input, trail, receivers, leftOut } = withRequest({ ...inbox, input: run.input, trail: run.trail }, request);
  const newcomers = receivers.slice(inbox.receivers.length);
  Object.assign(run, { input, trail });
  inbox.receivers.push(...newcomers);
  inbox.leftOut = leftOut;
  if (newcomers.length > 0) run.notifier.welcome(newcomers, run.trail);
  run.show();
}

function recordDeliveries(run: TrailHolder, inbox: OrderInbox, deliveries: DeliveryNotice[]): void {
  const { trail, ...recorded } = withDeliveries({ ...inbox, trail: run.trail }, deliveries);
  run.trail = trail;
  Object.assign(inbox, recorded);
  // A duplicate asks for a read too: two equal bodies may tell of two changes, to a status and back to it.
  inbox.asked += 1;
}
