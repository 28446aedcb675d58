import { condition, log, setHandler } from '@temporalio/workflow';
import type { DeliveryNotice } from '../../domain/delivery.js';
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
  type CarriedDeliveries,
  carryDeliveries,
  type DeliveryInbox,
  listenToDeliveries,
  openDeliveryInbox,
} from '../delivery-inbox.js';
import { followRequestedSignal, orderTrailQuery, refreshOrderUpdate, stopFollowingUpdate } from '../messages.js';
import { onUpdate } from '../run-kit.js';

/** What deliveries and callers want of the run. */
export interface OrderInbox extends DeliveryInbox {
  /** Callers of `refreshOrder` that wait for their read. */
  refreshing: number;
  /** Deliveries that no reading has answered yet. */
  claims: DeliveryNotice[];
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
export type CarriedInbox = CarriedDeliveries &
  Pick<OrderInbox, 'claims' | 'stopReason'> &
  Partial<Pick<OrderInbox, 'receivers' | 'leftOut'>>;

/** The inbox of a new run, with what the run before it had not answered. */
export const openInbox = (notify: readonly Notify[] = [], carried?: CarriedInbox): OrderInbox => ({
  ...openDeliveryInbox(carried),
  refreshing: 0,
  claims: carried?.claims ?? [],
  stopReason: carried?.stopReason ?? null,
  receivers: [...(carried?.receivers ?? notify)],
  leftOut: carried?.leftOut ?? [],
  closing: false,
  ended: false,
});

export const carryInbox = (inbox: OrderInbox): CarriedInbox => ({
  ...carryDeliveries(inbox),
  claims: inbox.claims,
  stopReason: inbox.stopReason,
  receivers: inbox.receivers,
  leftOut: inbox.leftOut,
});

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
  listenToDeliveries(inbox, (deliveries) => recordDeliveries(run, inbox, deliveries));
  setHandler(followRequestedSignal, (request) => {
    inbox.signals += 1;
    heed(run, inbox, readFollowRequest(request));
  });
  onUpdate(refreshOrderUpdate, parseNoInput, async () => {
    inbox.asked += 1;
    inbox.refreshing += 1;
    const mine = inbox.asked;
    await condition(() => inbox.served >= mine || inbox.closing);
    inbox.refreshing -= 1;
    return run.trail;
  });
  onUpdate(stopFollowingUpdate, parseStopInput, async ({ reason }) => {
    inbox.stopReason ??= reason;
    await condition(() => inbox.ended);
    return run.trail;
  });
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
}
