import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Client } from '@temporalio/client';
import { countsQueueOf } from '../domain/task-queues.js';
import type { RunCounts } from './counts.js';
import { createFleet, type Fleet } from './fleet.js';
import { isGrpc } from './run-errors.js';

/*
 * The counts are about the whole fleet, so one worker makes them. Visibility takes ten calls a second of a whole namespace, which 125
 * workers would use up, and a sum over workers would be wrong.
 *
 * A worker whose metrics are scraped stands for election by an open poll of a task queue in which there never is a task, and of all those
 * that the server lists the one with the smallest name counts. The server keeps this list in memory: an election costs no write, no run and
 * no read of a database. The list of the main queue would not do: it names workers that nobody scrapes, and if one of those were elected,
 * the counts would be missing for good. The winner is not told: it finds out itself, as all others do. So two workers may count for a
 * while, and after the death of the winner nobody does for a minute or so, less than two where scrapes come once a minute.
 */

/** Where a worker stands for election. */
interface Polls {
  /** Other candidates see this name. */
  identity: string;
  /** Resolves when the poll is over, after 25 s. */
  stand(): Promise<unknown>;
}

/** The server notes when a poll begins and when it ends. Where scrapes come once a minute, that is every 35 s at least. */
const pollMs = 25_000; // the server logs a warning for polls below 20 s
const awayMs = 40_000;
/** Scrapes may come in any number. */
const electEveryMs = 10_000;

/** Stands for election under a name that says which process it is. */
function createPolls(client: Client, taskQueue: string): Polls {
  const identity = `${process.pid}@${hostname()}#${randomUUID().slice(0, 8)}`;
  const { namespace } = client.options;
  const request = { namespace, taskQueue: { name: countsQueueOf(taskQueue) }, identity };
  return {
    identity,
    stand: () => client.withDeadline(Date.now() + pollMs, () => client.workflowService.pollActivityTaskQueue(request)),
  };
}

interface ElectionParts {
  taskQueue: string;
  fleet: Pick<Fleet, 'pollersOf'>;
  polls: Polls;
  /** Makes the counts. */
  count: () => Promise<RunCounts | null>;
  now?: () => number;
}

/** Gives the counts where this worker is elected, and null where it is not. Each call keeps it a candidate for a minute. */
export function countWhenElected({ taskQueue, fleet, polls, count, now = Date.now }: ElectionParts) {
  let isStanding = false;
  let elected: Promise<boolean> = Promise.resolve(false);
  let electedAt = Number.NEGATIVE_INFINITY;

  function stand(): void {
    if (isStanding) return;
    isStanding = true;
    const over = () => {
      isStanding = false;
    };
    polls.stand().then(over, over);
  }

  async function isElected(): Promise<boolean> {
    const seen = await fleet.pollersOf(countsQueueOf(taskQueue));
    // By the server's clock alone: the newest of them has polled just now.
    const newest = Math.max(...seen.map(({ lastAccessAt }) => lastAccessAt));
    return seen.every((one) => one.identity >= polls.identity || one.lastAccessAt < newest - awayMs);
  }

  return async (): Promise<RunCounts | null> => {
    stand();
    if (now() - electedAt >= electEveryMs) {
      electedAt = now();
      // Where the server does not show who polls, each worker counts. An overloaded one is not asked more.
      elected = isElected().catch((error: unknown) => isGrpc(error, 'UNIMPLEMENTED', 'PERMISSION_DENIED'));
    }
    return (await elected) ? await count() : null;
  };
}

/** The counts of the fleet for the page of one worker: null where another worker makes them, or nobody can. */
export const electedCounts = (client: Client, taskQueue: string, count: ElectionParts['count']) =>
  countWhenElected({ taskQueue, fleet: createFleet(client), polls: createPolls(client, taskQueue), count });
