import { Client, Connection } from '@temporalio/client';
import { createFaretrailClient, type FaretrailClient } from '../client/index.js';
import { deadlineIn } from '../clock.js';
import { publishedDelivery } from '../domain/published.js';
import { type FollowOrderKey, type ParkedDeliveryKey, parkedDeliveryId } from '../domain/workflow-ids.js';
import type { Env } from '../settings/env-reader.js';
import { findRunsInNeed, type RunsInNeed } from '../temporal/attention.js';
import { promptConnectionOptions } from '../temporal/connection.js';
import { findMissed, type Missed } from '../temporal/notices.js';
import { findParked, type WaitingDelivery } from '../temporal/parked.js';
import { readDecisions, runOf } from '../temporal/runs.js';
import { loadTemporalSettings } from '../temporal/settings.js';
import type { Found, Looking } from '../temporal/visibility.js';
import { judgeWorker } from '../temporal/watches.js';
import { createShared } from './shared.js';

/** How long a page waits for Temporal, before it is shown without what only Temporal knows. */
const pageWaitsMs = 2_000;
/** All viewers share a look at what needs somebody, and at missed notices. */
const looksEveryMs = 10_000;
const staleMs = 60_000;

/** One who presses buttons: Temporal keeps the name with each message (docs/decisions/17-who-decided.md). */
export interface Actor extends Looking {
  rides: FaretrailClient;
}

/** What Temporal knows. Every call rejects within seconds while it does not answer. */
export type Runs = ReturnType<typeof openRuns>;

/** What Temporal knows of an order. */
export type OrderInTemporal = Awaited<ReturnType<Runs['order']>>;

/** Parked deliveries that a page looks through, and a press discards at most. One page of the server. */
export const mostParked = 1_000;

/** Connects with the first call: pages need no Temporal. */
export function openRuns(env: Env, taskQueue: string) {
  const { connectionOptions, namespace, dataConverter } = loadTemporalSettings(env);
  const connection = Connection.lazy({ ...connectionOptions, ...promptConnectionOptions });
  const lookAs = (identity: string): Looking => ({
    client: new Client({ connection, namespace, dataConverter, identity }),
    config: { taskQueue },
    inTime: (act) => connection.withDeadline(deadlineIn(8_000), act),
  });
  const looking = lookAs('desk');
  const { client } = looking;
  const inTime = <T>(act: () => Promise<T>): Promise<T> => connection.withDeadline(deadlineIn(pageWaitsMs), act);
  const look = () => findRunsInNeed(looking, { limit: 200, parked: 0 }); // those have a page of their own
  const needs = createShared(looksEveryMs, look, staleMs);
  const missed = createShared(looksEveryMs, async () => (await findMissed(looking, {})).rows, staleMs);
  const parked = createShared(looksEveryMs, () => findParked(looking, { limit: mostParked }), staleMs);
  return {
    namespace,
    /** What needs somebody, by no more than ten seconds ago; waits briefly. */
    inNeed: (): Promise<RunsInNeed> => within(pageWaitsMs, needs('')),
    missed: (): Promise<readonly Missed[]> => within(pageWaitsMs, missed('')),
    /** Nothing `found`: Temporal remembers no run. No `trail`: no worker answers. */
    async order(key: FollowOrderKey) {
      const order = actor(looking).rides.get(key.account, key.orderId);
      const { workflowId } = order;
      const found = await inTime(() => runOf(client, workflowId).find());
      const [trail, decisions, notices] = await Promise.all([
        found && order.trail({ withinMs: pageWaitsMs }).catch(() => null),
        found ? within(pageWaitsMs, readDecisions(looking, workflowId)).catch(() => []) : [],
        within(pageWaitsMs, missed('')).catch(() => []),
      ]);
      const ofThisOrder = ({ id }: Missed) => id.startsWith(`${workflowId}/`);
      return { found, trail: trail ?? null, decisions, missed: notices.filter(ofThisOrder) };
    },
    /** The order that an answer to a create in doubt named; null for none, or if no worker answers in time. */
    async suggestedOrder(account: string, requestId: string): Promise<string | null> {
      const ride = actor(looking).rides.getRide(account, requestId);
      const standing = await ride.status({ withinMs: pageWaitsMs }).catch(() => null);
      return standing?.suggestedOrderId ?? null;
    },
    allParked: (): Promise<Found<WaitingDelivery>> => within(pageWaitsMs, parked('')),
    async parked(key: ParkedDeliveryKey) {
      const found = await inTime(() => runOf(client, parkedDeliveryId(key)).find());
      return found && { isOpen: found.isOpen, delivery: publishedDelivery(found.memo) };
    },
    /** Sees what a button has changed at once. */
    forget: () => [needs, missed, parked].forEach((one) => void one.forget()),
    actor: (who: string): Actor => actor(lookAs(who)),
    /** Null: a worker answers. Otherwise why nothing can be sent: the server would keep it for an unknown time. */
    whyNoWorker: () => judgeWorker(looking).then(({ result, message }) => (result === 'ok' ? null : message)),
    close: () => connection.close(),
  };
}

const actor = (looking: Looking): Actor => ({
  ...looking,
  rides: createFaretrailClient({ client: looking.client, taskQueue: looking.config.taskQueue }),
});

/** Rejects after so many milliseconds; the call itself goes on for those who come later. */
async function within<T>(ms: number, call: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
  });
  return await Promise.race([call, late]).finally(() => clearTimeout(timer));
}
