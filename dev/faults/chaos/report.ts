import Table from 'cli-table3';
import type { ChaosReport } from './run.js';
import type { Growth } from './soak.js';

const names: Record<string, string> = {
  faults: 'faults',
  faultsLeftOut: 'left out, since a process was not up again',
  ordersFollowed: 'orders followed',
  endSeenLateMedianMs: 'their end seen late, median, ms',
  endSeenLateMostMs: 'their end seen late, most, ms',
  ridesRequested: 'rides requested',
  businessCalls: 'business calls',
  upstreamCalls: 'calls that reached the service',
  busiestSecond: 'calls of one account in its busiest second',
  busiestTenSeconds: 'in its busiest ten seconds',
  deliveryAttempts: 'deliveries sent',
  deliveriesUnanswered: 'of these, without an answer',
  deliveriesNotTaken: 'answered with 503',
  deliveriesTooMany: 'answered with 429',
  deliveriesAcknowledged: 'acknowledged',
  deliveriesAfterTheEnd: 'of these, to orders that had ended',
  deliveriesLost: 'deliveries lost',
  noticesTold: 'orders whose changes both receivers were told',
  noticesArrived: 'notices that arrived',
  noticesRepeated: 'of these, once more',
  noticesOfThoseWhoLeft: 'receivers that answered 410',
  storedChanges: 'changes in the store',
  forgottenChanges: 'of these, forgotten by their run with a task that was lost',
  storedRides: 'rides in the store',
  storedReceipts: 'receipts in the store',
  storedPeriods: 'times in the store that somebody waited for a person',
  inventions: 'deliveries of a stranger',
  inventionsAcknowledged: 'of these, acknowledged',
  inventionsTooMany: 'answered with 429',
  inventionsNotTaken: 'answered with 503',
  inventionsUnknown: 'answered with 401, since the address had changed',
  inventionsUnanswered: 'without an answer',
  inventedRuns: 'orders that they started meanwhile',
  inventedRunsLimit: 'orders that they may start',
  anchorUnreadMostMs: 'longest time without a read of a followed order meanwhile, ms',
  tokenLeases: 'tokens (account and scope)',
  tokenRequests: 'token requests',
  tokensFirst: 'of these, first ones',
  tokensRenewed: 'at the end of a lifetime',
  tokensAfterFailure: 'after a failed one',
  tokensAfterRevocation: 'after the service ended the token',
  tokensAnswerLost: 'after an answer that was lost',
  runs: 'runs in Temporal',
  events: 'history events',
  longestHistory: 'events of the longest history',
  ownEnds: 'processes that ended without Temporal or its database, or after a pause, and were started again',
  secretsSought: 'secrets sought',
  megabytesSearched: 'megabytes searched for them, without histories',
  settledMs: 'milliseconds until all runs had ended',
};

/** The report as text. */
export function toText(report: ChaosReport): string {
  const { seed, seconds, deployment, problems, evidence, figures, faults, asked, growth } = report;
  const table = new Table({ colAligns: ['left', 'right'], style: { head: [], border: [] } });
  const shown = (count: number) => count.toLocaleString('en-US');
  for (const [key, name] of Object.entries(names)) {
    const figure = figures[key];
    if (figure !== undefined) table.push([name, shown(figure)]);
  }
  const list = (counts: Record<string, number>) =>
    Object.entries(counts)
      .map(([name, count]) => `${name} ${count}`)
      .sort()
      .join(', ');
  return [
    table.toString(),
    ...(growth.length > 0 ? [toGrowth(growth)] : []),
    deployment.join(', '),
    `faults: ${list(faults) || 'none'}`,
    `requests: ${list(asked)}`,
    problems.length === 0
      ? 'nothing is wrong'
      : `WRONG, ${problems.length}; logs and database are in ${evidence}:\n${problems.join('\n')}`,
    `seed ${seed}, ${seconds} s of faults`,
  ].join('\n');
}

function toGrowth(growth: readonly Growth[]): string {
  const table = new Table({ colAligns: ['left', 'right', 'right'], style: { head: [], border: [] } });
  table.push(['medians', 'second third', 'last third']);
  for (const { what, middle, last } of growth) table.push([what, Math.round(middle), Math.round(last)]);
  return table.toString();
}
