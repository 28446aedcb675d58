import { isConcernCode } from '../domain/attention.js';
import type { AccountName } from '../domain/keys.js';
import { findRunsInNeed, type RunInNeed } from '../temporal/attention.js';
import { accountOption, limitOption } from './arguments.js';
import { type CommandSpec, listing } from './command.js';
import type { Columns } from './text.js';

const help = `
Lists running orders, rides, calls, subscriptions, reports and tokens that need
a person, watches with the trouble of their whole account, all parked
deliveries, and accounts with followed orders that no worker holds or polls,
each with the command that helps or shows more. Rides come first and parked
deliveries last. The list is about a second behind the runs.`;

/** `attention`: the runs of every type that need a person. */
export const attentionCommand: CommandSpec = {
  form: 'attention',
  does: 'list what needs a person, and the command that helps',
  examples: ['', '--account business --json'],
  more: help,
  options: [accountOption(), limitOption()],
  act: (context, given: { account?: AccountName; limit: number }) => listRunsInNeed(context, given),
};

/** The list of runs that need a person. Ids are not cut, since people copy them. */
export const attentionColumns: Columns<RunInNeed> = {
  ...{ kind: 'kind', account: 'account', id: 'id' },
  ...{ attention: 'code', 'since (UTC)': 'since', 'what helps': 'command' },
};

const aboutRides =
  'about the ride itself. Ask the dispatch desk of the\nservice; nothing is wrong with faretrail, and nothing in the contract profile.';

/** Which codes are for the dispatch desk. */
export function concernNotes(runs: readonly RunInNeed[]): string[] {
  const concerns = [...new Set(runs.map(({ code }) => code).filter(isConcernCode))];
  return concerns.length === 0 ? [] : [`${concerns.join(', ')}: ${aboutRides}`];
}

const listRunsInNeed = listing({
  name: 'runs',
  empty: 'Nothing needs a person.',
  columns: attentionColumns,
  notes: concernNotes,
  async find(session, given: { account?: AccountName; limit: number }) {
    const { totals, rows, hasMore } = await findRunsInNeed(session, given);
    const listed = rows.slice(0, given.limit);
    const counts = `${totals.rides} orders and rides, ${totals.others} other runs, ${totals.parked} parked deliveries`;
    const more = `There are ${counts}; ${listed.length} are listed.`;
    return { rows: listed, hasMore: hasMore || rows.length > listed.length, more };
  },
});
