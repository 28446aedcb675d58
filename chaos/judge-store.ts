import type { OrderTrail } from '../src/client/index.js';
import type { Stage } from './stage.js';
import type { StoredRow } from './store-site.js';
import { together, type Verdict } from './verdict.js';
import type { WorkDone } from './work.js';

/** Has the store a row for each change, in order, and none twice? */
export async function judgeStore({ store }: Stage, { orders }: WorkDone): Promise<Verdict> {
  if (store === null) return together([]);
  const rows = await store.rows();
  let forgottenChanges = 0;
  const problems = orders.flatMap(({ account, orderId, end }) => {
    if (!('value' in end)) return [];
    const own = rows.filter((row) => row.account === account && row.orderId === orderId);
    const why = wronglyStored(own, end.value);
    forgottenChanges += storedWords(own).length - readWords(end.value).length;
    return why ? [`store of ${account}/${orderId}: ${why}`] : [];
  });
  return { problems, figures: { storedChanges: rows.length, forgottenChanges } };
}

/** Are all of `wanted` there, one after the other? */
function holdsInOrder(words: readonly string[], wanted: readonly string[]): boolean {
  let found = 0;
  for (const word of words) if (word === wanted[found]) found += 1;
  return found === wanted.length;
}

const withoutRepeats = (words: readonly string[]): string[] => words.filter((word, i) => word !== words[i - 1]);
const stateOf = ({ rawStatus, outcome, attention }: StoredRow): string =>
  JSON.stringify([rawStatus, outcome, attention]);

const storedWords = (rows: readonly StoredRow[]): string[] =>
  withoutRepeats(rows.map(({ rawStatus }) => rawStatus ?? ''));
const readWords = ({ timeline }: OrderTrail): string[] =>
  withoutRepeats(timeline.filter(({ source }) => source === 'read').map(({ rawStatus }) => rawStatus));

/** How the rows of an order differ from its trail; null if they do not. A run forgets what a lost task of it had recorded. */
export function wronglyStored(rows: readonly StoredRow[], trail: OrderTrail): string | null {
  const numbers = rows.map(({ change }) => change);
  if (numbers.some((number, i) => number !== i + 1)) return `has the numbers ${numbers.join(', ')}`;
  const twice = rows.find((row, i) => i > 0 && stateOf(row) === stateOf(rows[i - 1] as StoredRow));
  if (twice) return `has change ${twice.change} twice`;
  const stored = storedWords(rows);
  const read = readWords(trail);
  if (!holdsInOrder(stored, read)) return `has ${stored.join(' > ')}, the trail ${read.join(' > ')}`;
  return rows.at(-1)?.outcome === trail.outcome ? null : 'does not have the end';
}
