import { setTimeout as sleep } from 'node:timers/promises';
import { type PollPorts, Polls } from '../../src/activities/watch/polls.js';
import { createTurns } from '../../src/activities/watch/rates.js';
import type { Account } from '../../src/domain/account.js';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import { noWatch } from '../../src/domain/order/concern.js';
import type { WatchOrderInput } from '../../src/domain/watch.js';
import { collectGarbage } from './collect-garbage.js';
import { alone, atMost, type Measure } from './report.js';
import { pollEvery } from './settings.js';

const orders = 10_000;
const paceMs = 1_000;
const account: Account = {
  ...{
    name: toAccountName('bench'),
    interface: 'partner',
    baseUrl: 'http://127.0.0.1:9',
    authUrl: 'http://127.0.0.1:9',
  },
  ...{ clientId: 'bench', clientSecret: 'bench', requestsPerSecond: 100_000, untracked: 'ignore' },
  ...{ poll: pollEvery(paceMs), watch: noWatch },
};

/** The heap that the polls of an account hold for each order, after each was polled at least once, without garbage. No server runs. */
export async function benchPollMemory(rounds: number): Promise<Measure> {
  const results: number[] = [];
  for (let round = 0; round < rounds; round += 1) results.push(await heapPerOrder());
  return {
    name: `${orders} orders on the watch of one account: heap of each`,
    unit: 'kB',
    better: 'lower',
    rounds: alone(results.map((bytes) => bytes / 1_000)),
    ...atMost(3, 'kB'),
  };
}

async function heapPerOrder(): Promise<number> {
  const polled = new Set<number>();
  const ports: PollPorts = {
    readOrder: async (_account, orderId) => {
      polled.add(Number(orderId));
      return {
        status: 'Driving',
        rawStatus: 'Driving',
        terminal: false,
        details: { requestedAt: '2026-01-01T00:00:00Z' },
      };
    },
    runs: {
      readShown: async () => ({ ...handedOver(0), isExact: true, isOpen: true, isPending: true }),
      complete: async () => true,
      readOrder: async () => null,
      changeSeen: async () => true,
    },
    turns: createTurns(() => 0.9 * account.requestsPerSecond, 50, Date.now),
    ...{
      mayAsk: () => false,
      onHint: () => undefined,
      events: {},
      warn: () => undefined,
      now: Date.now,
      monotonic: Date.now,
      random: Math.random,
    },
  };
  const before = await heapBytes();
  const polls = new Polls(account, ports);
  void polls.run();
  for (let index = 0; index < orders; index += 1) polls.add(handedOver(index));
  while (polled.size < orders) await sleep(100);
  polled.clear();
  const after = await heapBytes();
  const count = polls.size;
  polls.stop();
  return (after - before) / count;
}

/** As it comes from a run: a new object with new texts. */
function handedOver(index: number): WatchOrderInput {
  const at = new Date(Date.now() - index).toISOString();
  const order = {
    ...{
      account: account.name,
      orderId: toOrderId(String(index).padStart(36, '0')),
      rawStatus: 'Driving',
      attention: null,
    },
    ...{ since: at, scheduledAt: at, followedSince: at, pushed: false },
  } satisfies WatchOrderInput;
  return JSON.parse(JSON.stringify(order)) as WatchOrderInput;
}

async function heapBytes(): Promise<number> {
  await collectGarbage();
  return process.memoryUsage().heapUsed;
}
