import { toScope } from '../../src/domain/keys.js';
import type { LedgerEntry } from './ledger.js';
import { isTokenOperation } from './operations.js';

/** The token requests of one client for one set of scopes, and when each arrived. */
export interface TokenRequests {
  clientId: string | undefined;
  scope: string;
  times: string[];
}

/** Token requests per client and scope, in the order of the first of each. */
export function tokenRequestsIn(entries: readonly LedgerEntry[]): TokenRequests[] {
  const byKey = new Map<string, TokenRequests>();
  for (const { operation, clientId, scope = '', at } of entries) {
    if (operation === 'unknown' || !isTokenOperation(operation)) continue;
    const key = JSON.stringify([operation, clientId, toScope(scope)]);
    const requests = byKey.get(key) ?? { clientId, scope: toScope(scope), times: [] };
    requests.times.push(at);
    byKey.set(key, requests);
  }
  return [...byKey.values()];
}

const isRead = ({ operation }: LedgerEntry): boolean => operation === 'orderStatus' || operation === 'orderDetails';

/** Milliseconds between each read of an order and the previous one. */
export function readDistancesMs(entries: readonly LedgerEntry[], orderId: string): number[] {
  const times = entries.filter((entry) => isRead(entry) && entry.orderId === orderId).map(({ at }) => Date.parse(at));
  return times.slice(1).map((time, i) => time - (times[i] ?? time));
}

/** The most calls that arrived within a time, its end not included. */
export function mostCallsWithin(ms: number, entries: readonly LedgerEntry[]): number {
  const times = entries.map(({ at }) => Date.parse(at)).sort((a, b) => a - b);
  let start = 0;
  let most = 0;
  for (const [i, time] of times.entries()) {
    while (time - (times[start] ?? time) >= ms) start += 1;
    most = Math.max(most, i - start + 1);
  }
  return most;
}
