import type { Store } from '../store/store.js';

// What the desk reads of the store. Each statement finds its rows by an index, so its time does not grow with the tables.

/** One order of a list. */
export interface OrderRow {
  account: string;
  order_id: string;
  reference: string | null;
  status: string | null;
  raw_status: string | null;
  since: Date;
  outcome: string | null;
  attention: string | null;
  changes: number;
  changed_at: Date;
  /** Of the ride that has made the order. */
  request_id: string | null;
}

/** One ride. */
export interface RideRow {
  account: string;
  request_id: string;
  order_id: string | null;
  ended: boolean;
  outcome: string | null;
  failure: string | null;
  attention: string | null;
  changed_at: Date;
}

/** A period in which an order or a ride needed somebody. */
export interface AttentionRow {
  kind: 'order' | 'ride';
  account: string;
  id: string;
  code: string;
  message: string;
  since: Date;
  cleared_at: Date | null;
}

/** One change of an order. */
export interface ChangeRow {
  change: number;
  type: string;
  at: Date;
  status: string | null;
  raw_status: string | null;
  outcome: string | null;
  attention: string | null;
}

/** One receipt of an order. */
export interface ReceiptRow {
  version: number;
  currency: string | null;
  total: string | null;
  net: string | null;
  tax: string | null;
  at: Date;
}

/** Which orders to list, and after which one. */
export interface OrderFilter {
  account?: string | undefined;
  status?: string | undefined;
  state?: 'open' | 'ended' | undefined;
  before?: readonly [changedAt: string, account: string, orderId: string] | undefined;
}

/** Rows of a page of a list. */
export const pageSize = 50;
const mostInNeed = 500;
const mostChanges = 200;

const orderColumns = `o.*, (select r.request_id from faretrail.rides r
  where r.account = o.account and r.order_id = o.order_id limit 1) as request_id`;

/** The keys after the last that a viewer has seen, of what has changed. */
export interface Changed {
  /** The last position of `order_changes`, and that of the other tables. */
  upTo: readonly [string, string];
  topics: readonly string[];
}

const othersChanged = ['rides', 'receipts', 'attention'];
const latest = `select (select coalesce(max(position), 0) from faretrail.order_changes)::text as changes,
  greatest(${othersChanged.map((table) => `(select max(position) from faretrail.${table})`)}, 0)::text as others`;

const mostChangedAtOnce = 500;
/** Positions are committed in order, so none is missed. */
const changedSince = `
  (select position::text, 'change' as what, 'order' as kind, account, order_id as id from faretrail.order_changes
    where position > $1 order by order_changes.position limit ${mostChangedAtOnce})
  union all (select position::text, 'ride', 'ride', account, request_id from faretrail.rides where position > $2)
  union all (select position::text, 'ride', 'order', account, order_id from faretrail.rides
    where position > $2 and order_id is not null)
  union all (select position::text, 'receipt', 'order', account, order_id from faretrail.receipts where position > $2)
  union all (select position::text, 'attention', kind, account, id from faretrail.attention where position > $2)`;

/** What the desk asks the store. Each call rejects within seconds when the store does not answer. */
export function createReads({ read }: Pick<Store, 'read'>) {
  return {
    orders({ account, status, state, before }: OrderFilter): Promise<OrderRow[]> {
      const values: unknown[] = [];
      const bound = (value: unknown) => `$${values.push(value)}`;
      const conditions = [
        ...(account ? [`o.account = ${bound(account)}`] : []),
        ...(status ? [`o.status = ${bound(status)}`] : []),
        ...(state ? [`o.outcome is ${state === 'open' ? '' : 'not '}null`] : []),
        ...(before ? [`(o.changed_at, o.account, o.order_id) < (${before.map(bound)})`] : []),
      ];
      return read(
        `select ${orderColumns} from faretrail.orders o ${conditions.length > 0 ? `where ${conditions.join(' and ')}` : ''}
          order by o.changed_at desc, o.account desc, o.order_id desc limit ${pageSize + 1}`,
        values,
      );
    },
    /** Orders whose id, ride or reference begins with this text. References count only for those who may see them. */
    search: (text: string, withReferences: boolean): Promise<OrderRow[]> =>
      read(
        `with found as (
          (select account, order_id from faretrail.orders where order_id like $1 limit ${pageSize})
          union (select account, order_id from faretrail.rides where request_id like $1 and order_id is not null limit ${pageSize})
          union (select account, order_id from faretrail.orders
            where $2 and lower(reference) like lower($1) limit ${pageSize}))
        select ${orderColumns} from found join faretrail.orders o using (account, order_id)
          order by o.changed_at desc, o.account desc, o.order_id desc limit ${pageSize}`,
        [startsWith(text), withReferences],
      ),
    /** Rides of which no order is known, the newest first; only those whose request id begins with `text`. */
    ridesWithoutOrder: (text = ''): Promise<RideRow[]> =>
      read(
        `select * from faretrail.rides where order_id is null and ($1 = '%' and not ended or $1 <> '%' and request_id like $1)
          order by changed_at desc limit ${pageSize}`,
        [startsWith(text)],
      ),
    order: (account: string, orderId: string): Promise<OrderRow[]> =>
      read(`select ${orderColumns} from faretrail.orders o where account = $1 and order_id = $2`, [account, orderId]),
    ride: (account: string, requestId: string): Promise<RideRow[]> =>
      read('select * from faretrail.rides where account = $1 and request_id = $2', [account, requestId]),
    ridesOf: (account: string, orderId: string): Promise<RideRow[]> =>
      read('select * from faretrail.rides where account = $1 and order_id = $2', [account, orderId]),
    /** The latest changes, newest first. */
    changesOf: (account: string, orderId: string): Promise<ChangeRow[]> =>
      read(
        `select * from faretrail.order_changes where account = $1 and order_id = $2 order by change desc limit ${mostChanges}`,
        [account, orderId],
      ),
    receiptsOf: (account: string, orderId: string): Promise<ReceiptRow[]> =>
      read('select * from faretrail.receipts where account = $1 and order_id = $2 order by version', [
        account,
        orderId,
      ]),
    attentionOf: (kind: AttentionRow['kind'], account: string, id: string): Promise<AttentionRow[]> =>
      read(
        'select * from faretrail.attention where kind = $1 and account = $2 and id = $3 order by since desc limit 50',
        [kind, account, id],
      ),
    /** What needs somebody, the oldest first. */
    inNeed: (): Promise<AttentionRow[]> =>
      read(`select * from faretrail.attention where cleared_at is null order by since limit ${mostInNeed}`),
    async latest(): Promise<Changed['upTo']> {
      const [row] = await read<{ changes: string; others: string }>(latest);
      return [row?.changes ?? '0', row?.others ?? '0'];
    },
    /** What has changed after these positions. */
    async changedSince([changes, others]: Changed['upTo']): Promise<Changed> {
      const rows = await read<{ position: string; what: string; kind: string; account: string; id: string }>(
        changedSince,
        [changes, others],
      );
      const last = (given: string, positions: string[]) =>
        positions
          .map(BigInt)
          .reduce((most, one) => (one > most ? one : most), BigInt(given))
          .toString(); // a bigint may be above 2^53
      const positionsOf = (isChange: boolean) =>
        rows.filter(({ what }) => (what === 'change') === isChange).map(({ position }) => position);
      const topics = rows.flatMap(({ what, kind, account, id }) => [
        `${kind} ${account} ${id}`,
        ...(what === 'attention' ? ['needs'] : []),
        ...(what === 'change' || what === 'ride' ? ['orders'] : []),
      ]);
      return {
        upTo: [last(changes, positionsOf(true)), last(others, positionsOf(false))],
        topics: [...new Set(topics)],
      };
    },
  };
}

/** What the desk asks the store. */
export type Reads = ReturnType<typeof createReads>;

/** A pattern of SQL for texts that begin with this one. */
const startsWith = (text: string): string => `${text.replace(/[\\%_]/g, '\\$&')}%`;
