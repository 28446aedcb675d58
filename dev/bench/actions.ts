import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, WorkflowHandle } from '@temporalio/client';
import { toAccountName } from '../../src/domain/keys.js';
import { followedPaceMs } from '../../src/domain/ride/ride.js';
import type { SubscriptionInput } from '../../src/domain/subscription/subscription.js';
import { subscriptionId } from '../../src/domain/workflow-ids.js';
import { rideStart } from '../../src/temporal/starts.js';
import { deliveryReceivedSignal } from '../../src/workflows/messages.js';
import { tokenRequestsIn } from '../sandbox/ledger-questions.js';
import { until } from '../stack/run/until.js';
import { rideBody } from './burst.js';
import { idleFigures } from './poll-idle.js';
import type { Listing } from './report.js';
import { fourHourRide } from './rides.js';
import { inFolder } from './rounds.js';
import {
  type Counts,
  countsBetween,
  countsOf,
  isHeartbeat,
  isWrite,
  parseActions,
  parseDatabaseCalls,
  sumOf,
} from './server-counts.js';
import { noPolls, pollEvery } from './settings.js';
import { type BenchPlace, openSite, type Site, type TemporalSource } from './site.js';

// What orders, rides, subscriptions and accounts cost at Temporal, by the counters of its server. The statuses of a
// ride of four hours come some seconds apart, because nothing but the attempts named below depends on the time between
// them.

export interface ActionsOptions {
  temporal: TemporalSource;
  say: (line: string) => void;
}

/** Cost of one order, ride or subscription. */
interface Cost {
  actions: number;
  events: number;
  writes: number;
}

interface Used {
  actions: Counts;
  calls: Counts;
  seconds: number;
}

const stepMs = 3_000;
const together = 10;
const restMs = 20_000;
const shownAfterMs = 2_500;
const tokenSeconds = 10;
const stretchMs = 60_000;
const account = toAccountName('business');

export const benchActions = ({ temporal, say }: ActionsOptions): Promise<Listing> =>
  inFolder(async (folder) => {
    const place = { folder, temporal };
    say('actions: an idle account, about 10 minutes beside the rest');
    const idle = onSite({ place, workers: 1 }, idleFigures);
    say('actions: announced orders');
    const announced = await onSite({ place, workers: 1, cadence: noPolls }, (site) => costOf(site, announcedOrder));
    const receiver = await startReceiver();
    const polled = { place, workers: 1, cadence: pollEvery(500), workerEnv: receiver.env };
    const rows = await onSite(polled, async (site) => {
      say('actions: polled orders');
      const order = await costOf(site, polledOrder);
      say('actions: requested rides');
      const ride = inFourHours(await costOf(site, (one) => requestedRide(one, {})));
      say('actions: requested rides with receipt and one URL');
      const more = { receipt: true, notify: [{ url: `${receiver.origin}/notices` }] };
      const told = inFourHours(await costOf(site, (one) => requestedRide(one, more)));
      return { order, ride, told };
    });
    receiver.close();
    say('actions: tokens and a subscription');
    const renewal = await onSite(
      { place, workers: 1, cadence: pollEvery(500), sandbox: { partner: { tokenLifetimeSeconds: tokenSeconds } } },
      costOfRenewal,
    );
    const subscribed = await onSite({ place, workers: 1 }, costOfSubscription);
    const { start, idle: quiet, watched, beats } = await idle;
    const only = (actions: number): number[] => [actions, Number.NaN, Number.NaN];
    const values = ({ actions, events, writes }: Cost): number[] => [actions, events, writes];
    return {
      name: 'cost at Temporal',
      columns: ['actions', 'events', 'writes'],
      rows: [
        { name: 'order of 8 statuses, announced', values: values(announced) },
        { name: 'order of 8 statuses, polled for 4 hours', values: values(rows.order) },
        { name: 'requested ride of 4 hours, 8 statuses, with its order', values: values(rows.ride) },
        { name: 'the same with receipt and one URL', values: values(rows.told) },
        { name: 'one renewal of a token', values: values(renewal) },
        { name: 'subscription, until active', values: values(subscribed.start) },
        { name: 'subscription, each hour', values: values(subscribed.hour) },
        { name: 'start of a worker, each account', values: only(start) },
        { name: 'account without live orders, a day', values: only(quiet) },
        { name: 'account with a live order that does not change, a day, without heartbeats', values: only(watched) },
        { name: 'its heartbeats, a day', values: only(beats) },
      ],
    };
  });

async function onSite<T>(
  { place, ...options }: Parameters<typeof openSite>[1] & { place: BenchPlace },
  act: (site: Site) => Promise<T>,
): Promise<T> {
  const site = await openSite(place, options);
  return await act(site).finally(site.close);
}

/** Takes any 2xx notice. */
async function startReceiver() {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(204).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const env = {
    FARETRAIL_NOTIFY_ORIGINS: origin,
    FARETRAIL_NOTIFY_PRIVATE: 'true',
    FARETRAIL_NOTIFY_SECRETS: `n1:${Buffer.alloc(32, 7).toString('base64url')}`,
  };
  return { origin, env, close: () => server.close() };
}

async function usedWhile({ temporal: { metricsUrl } }: Site, act: () => Promise<unknown>): Promise<Used> {
  const look = async () => {
    await sleep(shownAfterMs);
    return {
      actions: await countsOf(metricsUrl, parseActions),
      calls: await countsOf(metricsUrl, parseDatabaseCalls),
    };
  };
  const before = await look();
  const from = performance.now();
  await act();
  const after = await look();
  return {
    actions: countsBetween(before.actions, after.actions),
    calls: countsBetween(before.calls, after.calls),
    seconds: (performance.now() - from) / 1_000,
  };
}

const ofOrders = "WorkflowType != 'accountWatch' AND WorkflowType != 'accessToken'";

/** Of all runs of orders, rides and notices, once they have ended: those of an account are no part of one order. */
async function endedEvents(client: Client): Promise<number> {
  const areOver = async () => (await client.workflow.count(`ExecutionStatus = 'Running' AND ${ofOrders}`)).count === 0;
  await until('some runs did not end', areOver, { withinMs: 60_000, everyMs: 1_000 });
  await sleep(shownAfterMs);
  let events = 0;
  for await (const { historyLength } of client.workflow.list({ query: ofOrders })) events += historyLength;
  return events;
}

/** The mean of some at once, less what the server does meanwhile without them. Heartbeats belong to the account. */
async function costOf(site: Site, play: (site: Site) => Promise<unknown>): Promise<Cost> {
  await play(site); // the token, and the watch of the account
  const rest = await usedWhile(site, () => sleep(restMs));
  const eventsBefore = await endedEvents(site.client);
  const used = await usedWhile(site, () => Promise.all(Array.from({ length: together }, () => play(site))));
  const each = (of: (used: Used) => number): number => (of(used) - (of(rest) / rest.seconds) * used.seconds) / together;
  return {
    actions: each(({ actions }) => sumOf(actions, (action) => !isHeartbeat(action))),
    events: ((await endedEvents(site.client)) - eventsBefore) / together,
    writes: each(({ calls }) => sumOf(calls, isWrite)),
  };
}

const script = fourHourRide.map(([status], index) => ({ status, afterMs: index * stepMs }));

async function polledOrder({ sandbox, start }: Site): Promise<void> {
  const orderId = randomUUID();
  sandbox.addOrder({ interface: 'partner', orderId, script });
  await (await start({ at: 'partner', orderId })).result();
}

async function announcedOrder({ sandbox, start }: Site): Promise<void> {
  const orderId = randomUUID();
  sandbox.addOrder({ interface: 'partner', orderId, script: script.slice(0, 1) });
  const handle = await start({ at: 'partner', orderId });
  for (const [status] of fourHourRide.slice(1)) {
    await sleep(stepMs);
    sandbox.setStatus('partner', orderId, status);
    const receivedAt = new Date().toISOString();
    const delivery = { deliveryId: randomUUID(), eventType: 'status_changed', receivedAt, status };
    await handle.signal(deliveryReceivedSignal, { deliveries: [delivery] });
  }
  await handle.result();
}

/** The receipt is read as often as in production, some seconds apart instead of five minutes. */
const limits = { receiptEveryMs: 2_000, receiptUnchangedMs: 4_000 };

async function requestedRide({ sandbox, client, taskQueue }: Site, more: object): Promise<void> {
  sandbox.setRideSettings({ script, receiptAfterMs: 0, receiptChangesAfterMs: [] });
  const input = { account, requestId: randomUUID(), order: rideBody(1_000), ...more };
  const { args, ...options } = rideStart(input, taskQueue);
  await client.workflow.execute('requestRide', { ...options, args: [...args, { limits }] });
}

/** Number of reads of the order run's end in a ride, until the order announces its end after this time. */
function attemptsIn(ms: number): number {
  let attempts = 0;
  for (let at = 0; at < ms; at += followedPaceMs(false, attempts)) attempts += 1;
  return attempts;
}

const lastMs = (of: readonly { afterMs: number }[]): number => of.at(-1)?.afterMs ?? 0;

/** Only these attempts of a ride depend on its length. Each is one action, and two writes: its start and its end. */
function inFourHours({ actions, events, writes }: Cost): Cost {
  const [, fourHoursMs = 0] = fourHourRide.at(-1) ?? [];
  const more = attemptsIn(fourHoursMs) - attemptsIn(lastMs(script));
  return { actions: actions + more, events, writes: writes + 2 * more };
}

/** Tokens of some seconds, which polls of one order use. */
async function costOfRenewal(site: Site): Promise<Cost> {
  const { sandbox, start } = site;
  const orderId = randomUUID();
  sandbox.addOrder({ interface: 'partner', orderId, script: script.slice(0, 1) });
  await start({ at: 'partner', orderId });
  await sleep(restMs);
  const renewals = (): number => tokenRequestsIn(sandbox.ledger()).reduce((sum, { times }) => sum + times.length, 0);
  const before = renewals();
  const used = await usedWhile(site, () => sleep(stretchMs));
  const count = renewals() - before;
  const each = (counts: Counts, isCounted: (name: string) => boolean): number => sumOf(counts, isCounted) / count;
  return {
    actions: each(used.actions, (action) => !isHeartbeat(action)),
    events: Number.NaN,
    writes: each(used.calls, isWrite),
  };
}

/**
 * The cost of starting a subscription, and of each hour of it. Its attempts come every second here; in production they
 * come every hour or a little more often.
 */
async function costOfSubscription(site: Site): Promise<{ start: Cost; hour: Cost }> {
  const { client, taskQueue } = site;
  const subscribe = async (eventType: 'status_changed' | 'business_report', silence?: SubscriptionInput['silence']) => {
    const input = { account, eventType, publicUrl: site.sandbox.url, ...(silence && { silence }) };
    return await client.workflow.start('subscription', { workflowId: subscriptionId(input), taskQueue, args: [input] });
  };
  await sleep(restMs);
  const rest = await usedWhile(site, () => sleep(restMs));
  const begun = await usedWhile(site, async () => {
    await subscribe('business_report');
    await sleep(restMs);
  });
  const hourly = await subscribe('status_changed', { everyMs: 1_000 });
  await sleep(restMs);
  let attemptsBefore = 0;
  const used = await usedWhile(site, async () => {
    attemptsBefore = await attemptsOf(hourly);
    await sleep(stretchMs);
  });
  const attempts = (await attemptsOf(hourly)) - attemptsBefore;
  const costOf = (one: Used, times: number): Cost => {
    const each = (of: (used: Used) => number): number => (of(one) - (of(rest) / rest.seconds) * one.seconds) / times;
    return {
      actions: each(({ actions }) => sumOf(actions, (action) => !isHeartbeat(action))),
      events: Number.NaN,
      writes: each(({ calls }) => sumOf(calls, isWrite)),
    };
  };
  return { start: costOf(begun, 1), hour: costOf(used, attempts) };
}

async function attemptsOf(run: Pick<WorkflowHandle, 'describe'>): Promise<number> {
  const { raw } = await run.describe();
  return raw.pendingActivities?.find(({ activityType }) => activityType?.name === 'watchResets')?.attempt ?? Number.NaN;
}
