import type { AccountName } from '../../domain/keys.js';
import { accountOf, type GroupId } from '../journal/entries.js';

/** The groups that wait for room, by account. Those that got a delivery last go first: they are the likeliest to be real
 *  once a flood of invented ones is over. */
export interface HeldGroups {
  /** `deliveries`: how many the group has. */
  hold(id: GroupId, deliveries: number): void;
  release(id: GroupId): void;
  /** The newest groups of each account, as many as it has room for. */
  newest(room: (account: AccountName) => number): GroupId[];
  /** How many deliveries wait, by account. */
  counts(): ReadonlyMap<AccountName, number>;
  clear(): void;
}

export function createHeldGroups(): HeldGroups {
  const accounts = new Map<AccountName, Map<GroupId, number>>();
  const counts = new Map<AccountName, number>();
  const add = (account: AccountName, deliveries: number): void => {
    const count = (counts.get(account) ?? 0) + deliveries;
    if (count > 0) counts.set(account, count);
    else counts.delete(account);
  };

  function release(id: GroupId): void {
    const account = accountOf(id);
    const groups = accounts.get(account);
    const deliveries = groups?.get(id);
    if (!groups || deliveries === undefined) return;
    groups.delete(id);
    add(account, -deliveries);
    if (groups.size === 0) accounts.delete(account);
  }

  return {
    hold(id, deliveries) {
      release(id);
      const account = accountOf(id);
      const groups = accounts.get(account) ?? new Map<GroupId, number>();
      accounts.set(account, groups.set(id, deliveries));
      add(account, deliveries);
    },
    release,
    newest: (room) =>
      [...accounts].flatMap(([account, groups]) => {
        const free = room(account);
        return free > 0 ? [...groups.keys()].slice(-Math.min(free, groups.size)).reverse() : [];
      }),
    counts: () => counts,
    clear() {
      accounts.clear();
      counts.clear();
    },
  };
}
