import { ApplicationFailure, condition, log, setHandler } from '@temporalio/workflow';
import type { DeliveryNotice } from '../../domain/delivery.js';
import { parseNoInput } from '../../domain/input-fields.js';
import { maxReceivers, withDeliveries, withRequest } from '../../domain/order/earlier-run.js';
import { parseStopInput, readFollowRequest } from '../../domain/order/input.js';
import { readSeenChange } from '../../domain/watch.js';
import { listenToDeliveries } from '../delivery-inbox.js';
import {
  changeSeenSignal,
  followRequestedSignal,
  orderTrailQuery,
  refreshOrderUpdate,
  stopFollowingUpdate,
  watchedOrderQuery,
} from '../messages.js';
import { onUpdate } from '../run-kit.js';
import { watchedOrder } from './reads.js';
import type { Follow } from './state.js';

/** Registers all handlers. Must run before the first await of the run. */
export function listen(run: Follow): void {
  const { inbox } = run;
  setHandler(orderTrailQuery, () => run.trail);
  setHandler(watchedOrderQuery, () => watchedOrder(run));
  listenToDeliveries(inbox, (deliveries) => recordDeliveries(run, deliveries));
  setHandler(followRequestedSignal, (request) => {
    inbox.signals += 1;
    addRequest(run, request);
  });
  setHandler(changeSeenSignal, (seen) => {
    inbox.signals += 1;
    inbox.asked += 1;
    const { struggle, unchangedAt } = readSeenChange(seen);
    run.struggle = struggle;
    run.unchangedAt = unchangedAt ?? run.unchangedAt;
  });
  onUpdate(refreshOrderUpdate, parseNoInput, async () => {
    inbox.asked += 1;
    inbox.refreshing += 1;
    const mine = inbox.asked;
    await condition(() => inbox.served >= mine || inbox.closing);
    inbox.refreshing -= 1;
    // An order that has ended at the service is final: one more read would change nothing.
    if (inbox.served >= mine || run.trail.terminal) return run.trail;
    throw ApplicationFailure.nonRetryable(
      'The run ended, or gave way to the next one, before this read. Ask again.',
      'NotRead',
    );
  });
  onUpdate(stopFollowingUpdate, parseStopInput, async ({ reason }) => {
    inbox.stopReason ??= reason;
    await condition(() => inbox.ended);
    return run.trail;
  });
}

/** Changes nothing if the run knows all of it already. */
function addRequest(run: Follow, given: unknown): void {
  const { inbox } = run;
  const { request, problems } = readFollowRequest(given);
  if (problems.length > 0) log.warn('left out of followRequested', { problems: problems.slice(0, 10) });
  const { input, trail, receivers } = withRequest({ ...inbox, input: run.input, trail: run.trail }, request);
  if (receivers.length === maxReceivers) log.warn('the run takes no more receivers', { receivers: maxReceivers });
  const newcomers = receivers.slice(inbox.receivers.length);
  Object.assign(run, { input, trail });
  inbox.receivers.push(...newcomers);
  if (newcomers.length > 0) run.notifier.welcome(newcomers, run.trail);
  run.show();
}

function recordDeliveries(run: Follow, deliveries: DeliveryNotice[]): void {
  const { trail, ...recorded } = withDeliveries({ ...run.inbox, trail: run.trail }, deliveries);
  run.trail = trail;
  Object.assign(run.inbox, recorded);
}
