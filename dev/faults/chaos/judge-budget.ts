import type { LedgerEntry } from '../../sandbox/ledger.js';
import { mostCallsWithin } from '../../sandbox/ledger-questions.js';
import type { Verdict } from './verdict.js';

/** Task queues hand out a burst at first and after a move to another server, and calls that wait for the machine come together. */
const tolerance = 1.3;
/** Long enough that such a burst is a small part of it. */
const windowMs = 10_000;

/** Did the fleet keep to the budget of each account? An account is a client of the service. */
export function judgeBudget(ledger: readonly LedgerEntry[], requestsPerSecond: number | undefined): Verdict {
  if (requestsPerSecond === undefined) return { problems: [], figures: {} };
  const calls = ledger.filter(({ operation }) => !operation.endsWith('Token'));
  const clients = [...new Set(calls.flatMap(({ clientId }) => clientId ?? []))];
  const most = (ms: number) =>
    clients.map((client) =>
      mostCallsWithin(
        ms,
        calls.filter(({ clientId }) => clientId === client),
      ),
    );
  const allowed = requestsPerSecond * (windowMs / 1_000) * tolerance;
  const counts = most(windowMs);
  return {
    problems: clients.flatMap((client, i) => {
      const count = counts[i] ?? 0;
      return count > allowed ? [`budget of ${client}: ${count} calls in ${windowMs} ms, at most ${allowed}`] : [];
    }),
    figures: { busiestSecond: Math.max(0, ...most(1_000)), busiestTenSeconds: Math.max(0, ...counts) },
  };
}
