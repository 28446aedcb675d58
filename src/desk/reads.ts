import { spellingsOf } from '../domain/keys.js';
import type { Store } from '../store/store.js';
import { formsOf } from './readable.js';

// What the desk reads of the store. Each statement finds its rows by an index, so its time does not grow with the tables.

/** A row, by the columns that are a text, a text or null, and an instant. */
type Row<Text extends string, Maybe extends string, Time extends string> = Record<Text, string> &
  Record<Maybe, string | null> &
  Record<Time, Date>;

/** One order; `request_id` is of the ride that has made it. */
export type OrderRow = Row<
  'account' | 'order_id',
  'reference' | 'status' | 'raw_status' | 'outcome' | 'attention' | 'request_id',
  'since' | 'changed_at'
>;
/** One ride. */
export type RideRow = { ended: boolean } & Row<
  'account' | 'request_id',
  'order_id' | 'outcome' | 'failure' | 'attention',
  'changed_at'
>;
/** A period in which an order or a ride needed somebody. */
export type AttentionRow = { kind: 'order' | 'ride'; cleared_at: Date | null } & Row<
  'account' | 'id' | 'code' | 'message',
  never,
  'since'
>;
type ChangeRow = Row<'type', 'status' | 'raw_status' | 'outcome' | 'attention', 'at'>;
type ReceiptRow = { version: number } & Row<never, 'currency' | 'total' | 'net' | 'tax', 'at'>;

/** Which orders to list, and after which one. */
export interface OrderFilter {
  account?: string;
  status?: string;
  state?: 'open' | 'ended';
  before?: readonly [changedAt: string | undefined, account: string, orderId: string] | undefined;
}

/** What the store knows of what needs somebody. */
export interface StoredNeeds {
  rows: readonly AttentionRow[];
  total: number;
}

const mostNeeds = 500;

/** Rows of a page of a list. */
export const pageSize = 50;

const orderColumns = `o.*, (select r.request_id from faretrail.rides r
  where r.account = o.account and r.order_id = o.order_id limit 1) as request_id`;

const newestFirst = 'order by o.changed_at desc, o.account desc, o.order_id desc';

/** The keys after the last that a viewer has seen, of what has changed. */
export interface Changed {
  /** The last position of `order_changes`, and that of the other tables. */
  upTo: readonly [string, string];
  topics: readonly string[];
}

const latest = `select (select coalesce(max(position), 0) from faretrail.order_changes)::text as changes,
  greatest(${['rides', 'receipts', 'attention'].map((table) => `(select max(position) from faretrail.${table})`)}, 0)::text as others`;

/** Positions are committed in order, so none is missed. */
const changedSince = `
  (select position::text, 'change' as what, 'order' as kind, account, order_id as id from faretrail.order_changes
    where position > $1 order by order_changes.position limit 500)
  union all (select position::text, 'ride', 'ride', account, request_id from faretrail.rides where position > $2)
  union all (select position::text, 'ride', 'order', account, order_id from faretrail.rides
    where position > $2 and order_id is not null)
  union all (select position::text, 'receipt', 'order', account, order_id from faretrail.receipts where position > $2)
  union all (select position::text, 'attention', kind, account, id from faretrail.attention where position > $2)`;

type ChangedRow = Record<'position' | 'what' | 'kind' | 'account' | 'id', string>;

function toChanged(rows: readonly ChangedRow[], upTo: [bigint, bigint]): Changed {
  for (const { position, what } of rows) {
    const at = what === 'change' ? 0 : 1;
    if (BigInt(position) > upTo[at]) upTo[at] = BigInt(position);
  }
  const topics = rows.flatMap(({ what, kind, account, id }) => [
    `${kind} ${account} ${id}`,
    ...(what === 'attention' ? ['needs'] : []),
    ...(what === 'change' || what === 'ride' ? ['orders'] : []),
  ]);
  return { upTo: [`${upTo[0]}`, `${upTo[1]}`], topics: [...new Set(topics)] };
}

/** The parameters that hold the forms of what is searched for. */
const forms = ['$1', '$2', '$3'];

const search = `with found as (${forms
  .map(
    (like) => `
          (select account, order_id from faretrail.orders where order_id like ${like} limit ${pageSize})
          union (select account, order_id from faretrail.orders where order_id like lower(${like}) limit ${pageSize})
          union (select account, order_id from faretrail.rides where request_id like ${like} and order_id is not null limit ${pageSize})
          union (select account, order_id from faretrail.orders
            where $4 and lower(reference) like lower(${like}) limit ${pageSize})`,
  )
  .join(' union ')})
        select ${orderColumns} from found join faretrail.orders o using (account, order_id)
          ${newestFirst} limit ${pageSize}`;

/** What the desk asks the store. Each call rejects within seconds when the store does not answer. */
export function createReads({ read }: Pick<Store, 'read'>) {
  const attentionOf = (kind: AttentionRow['kind'], account: string, id: string): Promise<AttentionRow[]> =>
    read(
      `select * from faretrail.attention where kind = $1 and account = $2 and id = any($3) order by since desc limit 50`,
      [kind, account, kind === 'order' ? spellingsOf(id) : [id]],
    );
  return {
    orders: ({
      account,
      status,
      state,
      before: [at, ...key] = [undefined, '', ''],
    }: OrderFilter): Promise<OrderRow[]> =>
      // The planner knows the values, and so drops conditions that are always met.
      read(
        `select ${orderColumns} from faretrail.orders o
          where ($1::text is null or o.account = $1) and ($2::text is null or o.status = $2)
            and ($3::text is null or (o.outcome is null) = ($3 = 'open'))
            and ($4::timestamptz is null or (o.changed_at, o.account, o.order_id) < ($4, $5::text, $6::text))
          ${newestFirst} limit ${pageSize + 1}`,
        [account, status, state, at, ...key],
      ),
    /** Orders whose id, ride or reference begins with this text, in any of its forms. References count only for those who may see them. */
    search: (text: string, withReferences: boolean): Promise<OrderRow[]> =>
      read(search, [...patternsOf(text), withReferences]),
    /** Rides of which no order is known, the newest first: those that go on, or all whose request id begins with `text`. */
    ridesWithoutOrder: (text = ''): Promise<RideRow[]> =>
      read(
        `select * from faretrail.rides where order_id is null
            and ($1 = '%' and not ended or $1 <> '%' and (${forms.map((like) => `request_id like ${like}`).join(' or ')}))
          order by changed_at desc limit ${pageSize}`,
        patternsOf(text),
      ),
    ride: (account: string, requestId: string): Promise<RideRow[]> =>
      read('select * from faretrail.rides where account = $1 and request_id = $2', [account, requestId]),
    attentionOf,
    /** All about one order; the latest changes, newest first. */
    async order(account: string, orderId: string) {
      const of = `account = $1 and order_id = any($2)`;
      const key = [account, spellingsOf(orderId)];
      const [[order], changes, receipts, attention] = await Promise.all([
        read<OrderRow>(`select ${orderColumns} from faretrail.orders o where ${of}`, key),
        read<ChangeRow>(`select * from faretrail.order_changes where ${of} order by change desc limit 200`, key),
        read<ReceiptRow>(`select * from faretrail.receipts where ${of} order by version`, key),
        attentionOf('order', account, orderId),
      ]);
      return order && { order, changes, receipts, attention };
    },
    /** What needs somebody, the oldest first, and how many there are, listed or not. */
    async inNeed(): Promise<StoredNeeds> {
      const open = 'from faretrail.attention where cleared_at is null';
      const rows = await read<AttentionRow>(`select * ${open} order by since limit ${mostNeeds + 1}`);
      if (rows.length <= mostNeeds) return { rows, total: rows.length };
      const [counted] = await read<{ total: number }>(`select count(*)::int as total ${open}`);
      return { rows: rows.slice(0, mostNeeds), total: counted?.total ?? rows.length };
    },
    async latest(): Promise<Changed['upTo']> {
      const [row] = await read<{ changes: string; others: string }>(latest);
      return [row?.changes ?? '0', row?.others ?? '0'];
    },
    /** What has changed after these positions. */
    async changedSince([changes, others]: Changed['upTo']): Promise<Changed> {
      const rows = await read<ChangedRow>(changedSince, [changes, others]);
      return toChanged(rows, [BigInt(changes), BigInt(others)]); // may be above 2^53
    },
  };
}

/** What the desk asks the store. */
export type Reads = ReturnType<typeof createReads>;

/** All that the store has of an order. */
export type StoredOrder = NonNullable<Awaited<ReturnType<Reads['order']>>>;

/** Patterns of SQL for texts that begin with one of the forms of this one. */
const patternsOf = (text: string): string[] => formsOf(text).map((form) => `${form.replace(/[\\%_]/g, '\\$&')}%`);
