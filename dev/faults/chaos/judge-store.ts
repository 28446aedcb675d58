import type { OrderTrail, RideResult } from '../../../src/client/index.js';
import { referenceAdded } from '../../../src/domain/order/trail.js';
import type { Answer } from './insist.js';
import type { Stage } from './stage.js';
import type { Stored, StoredPeriod, StoredReceipt, StoredRide, StoredRow } from './store-site.js';
import { together, type Verdict } from './verdict.js';
import type { WorkDone } from './work.js';

/** Has the store a row for each change, in order, and none twice; each ride, its receipt, and who waited for a person? */
export async function judgeStore({ store }: Stage, done: WorkDone): Promise<Verdict> {
  if (store === null) return together([]);
  const stored = await store.read();
  return together([judgeStoredOrders(stored, done), judgeStoredRides(stored, done)]);
}

function judgeStoredOrders({ changes, attention }: Stored, { orders }: WorkDone): Verdict {
  let forgottenChanges = 0;
  const problems = orders.flatMap(({ account, orderId, end }) => {
    if (!('value' in end)) return [];
    const own = changes.filter((row) => row.account === account && row.orderId === orderId);
    const periods = attention.filter((one) => one.kind === 'order' && one.account === account && one.id === orderId);
    forgottenChanges += storedWords(own).length - readWords(end.value).length;
    return [wronglyStored(own, end.value), wrongPeriods(own, periods)].flatMap((why) =>
      why ? [`store of ${account}/${orderId}: ${why}`] : [],
    );
  });
  return {
    problems,
    figures: { storedChanges: changes.length, forgottenChanges, storedPeriods: attention.length },
  };
}

function judgeStoredRides({ rides, receipts, attention }: Stored, done: WorkDone): Verdict {
  const problems = done.rides.flatMap((ride) => {
    const { requestId } = ride;
    const row = rides.find((one) => one.requestId === requestId);
    const about = {
      receipts: receipts.filter(({ orderId }) => orderId === row?.orderId),
      periods: attention.filter(({ kind, id }) => kind === 'ride' && id === requestId),
      wasDoubted: done.doubted.has(requestId),
    };
    const why = wronglyStoredRide(row, ride.end, about);
    return why ? [`store of ride ${requestId}: ${why}`] : [];
  });
  return { problems, figures: { storedRides: rides.length, storedReceipts: receipts.length } };
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
  withoutRepeats(timeline.filter(({ source }) => source === 'read').map(({ rawStatus }) => asKept(rawStatus)));

/** PostgreSQL keeps neither U+0000 nor half of a surrogate pair; the sandbox sends both. */
const asKept = (word: string): string => word.toWellFormed().replaceAll('\0', '\ufffd');

/** How the rows of an order differ from its trail; null if they do not. A run forgets what a lost task of it had recorded. */
export function wronglyStored(rows: readonly StoredRow[], trail: OrderTrail): string | null {
  const numbers = rows.map(({ change }) => change);
  if (numbers.some((number, i) => number !== i + 1)) return `has the numbers ${numbers.join(', ')}`;
  // A reference comes with the state that the store has already.
  const twice = rows.find(
    (row, i) => i > 0 && row.type !== referenceAdded && stateOf(row) === stateOf(rows[i - 1] as StoredRow),
  );
  if (twice) return `has change ${twice.change} twice`;
  const stored = storedWords(rows);
  const read = readWords(trail);
  if (!holdsInOrder(stored, read)) return `has ${stored.join(' > ')}, the trail ${read.join(' > ')}`;
  return rows.at(-1)?.outcome === trail.outcome ? null : 'does not have the end';
}

/** How the periods of an order differ from its rows, which are judged by themselves; null if they do not. */
export function wrongPeriods(rows: readonly StoredRow[], periods: readonly StoredPeriod[]): string | null {
  const shown = rows.map(({ outcome, attention }) => (outcome === null && attention) || '');
  const wanted = withoutRepeats(shown).filter((code) => code !== '');
  const found = periods.map(({ code }) => code);
  if (found.join() !== wanted.join()) return `has the attention ${found.join(', ')}, its rows ${wanted.join(', ')}`;
  return wrongEnds(periods);
}

const wrongEnds = (periods: readonly StoredPeriod[]): string | null =>
  periods.some(({ isOver }) => !isOver) ? 'still waits for a person' : null;

/** What the store has of a ride besides its row. `wasDoubted`: a person had to find out whether it has an order. */
interface AboutRide {
  receipts: readonly StoredReceipt[];
  periods: readonly StoredPeriod[];
  wasDoubted: boolean;
}

/** How what is stored of a ride that has ended differs from its end; null if it does not. */
export function wronglyStoredRide(
  row: StoredRide | undefined,
  end: Answer<RideResult>,
  { receipts, periods, wasDoubted }: AboutRide,
): string | null {
  const result = 'value' in end ? end.value : null;
  if (row === undefined) return result?.outcome === 'withdrawn' ? null : 'is missing'; // nothing was asked of a worker
  if (!row.ended) return 'does not have the end';
  if (row.attention !== null) return 'ended with attention';
  if ('code' in end && row.failure !== end.code) return `failed with ${row.failure}, the ride with ${end.code}`;
  const wanted = [result?.orderId ?? null, result?.outcome ?? null];
  const found = [row.orderId, row.outcome];
  if (found.join() !== wanted.join()) return `has ${found.join(', ')}, the ride ${wanted.join(', ')}`;
  if (wasDoubted && !periods.some(({ code }) => code === 'outcomeUnknown')) return 'does not say that it was in doubt';
  return wrongEnds(periods) ?? wrongReceipts(receipts, result);
}

function wrongReceipts(receipts: readonly StoredReceipt[], result: RideResult | null): string | null {
  const versions = receipts.map(({ version }) => version);
  if (versions.some((version, i) => version !== i + 1)) return `has the receipts ${versions.join(', ')}`;
  const summary = result?.receipt?.payment_summary as { total_inc_tax?: unknown } | undefined;
  const wanted = String(summary?.total_inc_tax ?? null);
  const found = String(receipts.at(-1)?.total ?? null);
  return found === wanted ? null : `has a receipt of ${found}, the ride of ${wanted}`;
}
