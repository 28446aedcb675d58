import { keptForMs, maxOrders, type TallyLine } from '../../contracts/delivery-tally.js';
import { iso } from '../../domain/instant.js';

/** A delivery that no run got. */
export interface Tallied extends Pick<TallyLine, 'account' | 'eventType' | 'outcome'> {
  count: number;
  /** Of a late delivery. */
  orderId?: string | null;
}

/** How many deliveries no run got, by minute. */
export interface Tally {
  /** Takes about a microsecond, and never throws. */
  add(delivery: Tallied): void;
  lines(): TallyLine[];
}

/** Instants are milliseconds since the epoch. */
interface Entry {
  from: number;
  to: number;
  count: number;
  orders: string[];
}

const minuteMs = 60_000;
/** Of one account, event type and outcome, which all are closed lists: so no flood grows the file, and none displaces lines of another kind. */
const linesPerKind = 40;

/** An empty tally, or one with the lines of an earlier start. */
export function createTally(known: readonly TallyLine[], onChange: () => void, now: () => number = Date.now): Tally {
  const kinds = new Map<string, { kind: Pick<Tallied, 'account' | 'eventType' | 'outcome'>; entries: Entry[] }>();

  function entriesOf({ account, eventType, outcome }: Pick<Tallied, 'account' | 'eventType' | 'outcome'>): Entry[] {
    const name = `${account}/${eventType}/${outcome}`;
    const found = kinds.get(name) ?? { kind: { account, eventType, outcome }, entries: [] };
    kinds.set(name, found);
    return found.entries;
  }

  for (const { from, to, count, orders, ...kind } of known)
    entriesOf(kind).push({ from: Date.parse(from), to: Date.parse(to), count, orders: [...orders] });

  return {
    add({ count, orderId, ...kind }) {
      const entries = entriesOf(kind);
      const at = now();
      const last = entries.at(-1);
      const entry = last && minuteOf(last.to) === minuteOf(at) ? last : begin(entries, at);
      entry.to = at;
      entry.count += count;
      if (orderId) entry.orders = lastOf([...entry.orders, orderId]);
      onChange();
    },
    lines() {
      const oldest = now() - keptForMs;
      return [...kinds.values()].flatMap(({ kind, entries }) => {
        while (entries[0] && entries[0].to < oldest) entries.shift();
        return entries.map(({ from, to, ...rest }) => ({ ...kind, from: iso(from), to: iso(to), ...rest }));
      });
    },
  };
}

const minuteOf = (at: number): number => Math.floor(at / minuteMs);

/** Each order once, the newest last. */
const lastOf = (orders: readonly string[]): string[] =>
  [...new Set([...orders].reverse())].slice(0, maxOrders).reverse();

/** A new minute. Where there are too many lines, the two that are closest in time become one: no delivery is forgotten, and a flood does
 *  not blur with another one of some days ago. */
function begin(entries: Entry[], at: number): Entry {
  if (entries.length >= linesPerKind) joinClosest(entries);
  const entry = { from: at, to: at, count: 0, orders: [] };
  entries.push(entry);
  return entry;
}

function joinClosest(entries: Entry[]): void {
  const pairs = entries.flatMap((one, index) => {
    const next = entries[index + 1];
    return next ? [{ one, next, index, spanMs: next.to - one.from }] : [];
  });
  const closest = pairs.reduce((best, pair) => (pair.spanMs < best.spanMs ? pair : best));
  const { one, next, index } = closest;
  const orders = lastOf([...one.orders, ...next.orders]);
  entries.splice(index, 2, { from: one.from, to: next.to, count: one.count + next.count, orders });
}
