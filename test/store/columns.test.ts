import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Attention } from '../../src/domain/attention.js';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import type { StoredChange, StoredReceipt } from '../../src/domain/notify/notices.js';
import { isChange, type OrderChange, storeNewsSince, toOrderEvent } from '../../src/domain/order/trail.js';
import { isRideNews, type RideNotice, toRideEvent } from '../../src/domain/ride/ride.js';
import { openStore, type Store } from '../../src/store/store.js';
import { usePostgres } from '../support/store/postgres.js';

// Each column of the store while nothing else changes: its value comes late, changes, and goes.

const postgres = usePostgres();
let store: Store;
beforeAll(async () => {
  store = openStore(postgres.url);
  await store.rehearse();
});
afterAll(() => store.close());

const account = toAccountName('business');
const at = (second: number): string => new Date(Date.UTC(2031, 0, 1, 0, 0, second)).toISOString();
const attention = (code: Attention['code'], second = 1): Attention => ({
  code,
  message: `${code}!`,
  since: at(second),
});
const date = (second: number): Date => new Date(at(second));

type Table = 'orders' | 'order_changes' | 'rides' | 'receipts' | 'attention';
type State = Partial<OrderChange> | Partial<RideNotice> | Partial<StoredReceipt>;
/**
 * What a subject shows next, beside what it has shown, and then the column. `anew`: to a new run, after the former one
 * ended.
 */
type Step = [shows: State & { anew?: true }, column: unknown];
/** A reason where it cannot be. */
interface Course {
  before: State;
  late: Step;
  changes: Step | string;
  goes: Step | string;
}

/** A column that says which row it is, or counts or dates rows. */
const ofRow = 'of the row itself';

const order: Course['before'] = { status: 'Waiting', rawStatus: 'Waiting', since: at(0) };
const unread: Course['before'] = { status: null, rawStatus: null };
const concerns: Course = {
  before: order,
  late: [{ attention: attention('latePickup') }, 'latePickup'],
  changes: [{ attention: attention('customerCare') }, 'customerCare'],
  goes: [{ attention: null }, null],
};
const outcome: Course = {
  before: order,
  late: [{ outcome: 'stopped' }, 'stopped'],
  changes: [{ outcome: 'expired', anew: true }, 'expired'],
  goes: [{ outcome: null, anew: true }, null],
};
const words = (first: unknown, second: unknown): Course => ({
  before: unread,
  late: [{ status: 'Driving', rawStatus: 'driving', since: at(4) }, first],
  changes: [{ status: 'On hold', rawStatus: 'On hold', since: at(6) }, second],
  goes: 'an order that was read once has a status',
});
const rideAttention: Course = {
  before: {},
  late: [{ attention: attention('outcomeUnknown') }, 'outcomeUnknown'],
  changes: [{ attention: attention('upstreamUnavailable') }, 'upstreamUnavailable'],
  goes: [{ attention: null }, null],
};
const amount = (name: 'currency' | 'total' | 'net' | 'tax', first: string, second: string): Course => ({
  before: {},
  late: [{ [name]: first }, first],
  changes: [{ [name]: second }, second],
  goes: [{ [name]: null }, null],
});
/** A price comes together with the order or with doubt about it. */
const priced = (name: 'price' | 'currency', first: string, second: string): Course => ({
  before: {},
  late: [{ attention: attention('outcomeUnknown'), [name]: first }, first],
  changes: [{ attention: null, orderId: toOrderId('7b21'), [name]: second }, second],
  goes: 'the last price of a ride stays',
});
const staysNamed = 'the service names an order once';

const columns: Record<Table, Record<string, Course | string>> = {
  orders: {
    ...{ account: ofRow, order_id: ofRow, changes: ofRow, changed_at: ofRow },
    reference: {
      before: order,
      late: [{ reference: 'trip-9' }, 'trip-9'],
      changes: [{ reference: 'trip-10' }, 'trip-10'],
      goes: 'a caller cannot take it back, and a new run without one knows that of the former',
    },
    status: words('Driving', 'On hold'),
    raw_status: words('driving', 'On hold'),
    since: words(date(4), date(6)),
    terminal: {
      before: { ...order, terminal: false },
      late: [{ terminal: true, outcome: 'completed' }, true],
      changes: 'it has two values',
      goes: [{ terminal: false, outcome: null, anew: true }, false],
    },
    outcome,
    attention: concerns,
  },
  order_changes: {
    ...{ position: ofRow, account: ofRow, order_id: ofRow, change: ofRow, id: ofRow, run: ofRow, notice: ofRow },
    ...{ type: ofRow, at: ofRow, recorded_at: ofRow },
    status: words('Driving', 'On hold'),
    raw_status: words('driving', 'On hold'),
    since: words(date(4), date(6)),
    outcome,
    attention: concerns,
    attention_message: {
      ...concerns,
      late: [{ attention: attention('latePickup') }, 'latePickup!'],
      changes: [{ attention: attention('customerCare') }, 'customerCare!'],
    },
    attention_since: {
      ...concerns,
      late: [{ attention: attention('latePickup', 3) }, date(3)],
      changes: [{ attention: attention('customerCare', 4) }, date(4)],
    },
  },
  rides: {
    ...{ position: ofRow, account: ofRow, request_id: ofRow, changed_at: ofRow, run: ofRow, notice: ofRow },
    order_id: {
      before: { attention: attention('outcomeUnknown') },
      late: [{ orderId: toOrderId('7b21') }, '7b21'],
      changes: staysNamed,
      goes: staysNamed,
    },
    ended: { before: {}, late: [{ stage: 'ended' }, true], changes: 'it has two values', goes: 'a ride ends once' },
    outcome: {
      before: {},
      late: [{ stage: 'ended', outcome: 'completed' }, 'completed'],
      changes: 'a ride ends once',
      goes: 'a ride ends once',
    },
    failure: {
      before: {},
      late: [{ stage: 'ended', failure: { type: 'Refused', message: '' } }, 'Refused'],
      changes: 'a ride ends once',
      goes: 'a ride ends once',
    },
    attention: rideAttention,
    price: priced('price', '48.00', '50.00'),
    currency: priced('currency', 'GBP', 'EUR'),
  },
  receipts: {
    ...{ position: ofRow, account: ofRow, order_id: ofRow, version: ofRow, at: ofRow, recorded_at: ofRow },
    currency: amount('currency', 'EUR', 'GBP'),
    total: amount('total', '12.50', '13.50'),
    net: amount('net', '10.50', '11.50'),
    tax: amount('tax', '2.00', '2.50'),
  },
  attention: {
    ...{ position: ofRow, kind: ofRow, account: ofRow, id: ofRow },
    code: { ...concerns, goes: 'the row stays, with `cleared_at`' },
    message: {
      ...concerns,
      late: [{ attention: attention('latePickup') }, 'latePickup!'],
      changes: [{ attention: attention('customerCare') }, 'customerCare!'],
      goes: 'the row stays, with `cleared_at`',
    },
    since: {
      ...concerns,
      late: [{ attention: attention('latePickup', 3) }, date(3)],
      changes: [{ attention: attention('customerCare', 4) }, date(4)],
      goes: 'the row stays, with `cleared_at`',
    },
    cleared_at: {
      before: { ...order, attention: attention('latePickup') },
      late: [{ attention: null }, expect.any(Date)],
      changes: 'a period ends once',
      goes: [{ attention: attention('latePickup', 9) }, null],
    },
  },
};

/** What the run of a subject sends to the store, as `createNotifier` decides it; null: nothing. */
function toStored(kind: Table, last: State | null, next: State): Pick<StoredChange, 'type' | 'change'> | null {
  if (kind === 'receipts') return { type: 'ride.receipt', change: next as StoredReceipt };
  if (kind === 'rides') {
    const [before, now] = [last as RideNotice | null, next as RideNotice];
    if (!isRideNews(now, before)) return null;
    return { type: toRideEvent(now).type, change: now };
  }
  const [before, now] = [last as OrderChange | null, next as OrderChange];
  const event = isChange(now, before) ? toOrderEvent(now, before) : before && storeNewsSince(before, now);
  return event && { type: event.type, change: event.data };
}

/** A subject that shows one state after the other; each must become a row, or a change of it. */
function subjectOf(kind: Table) {
  const orderId = toOrderId(randomUUID());
  const requestId = `trip-${orderId}`;
  const bases: Record<Table, () => State> = {
    orders: () => ({
      account,
      orderId,
      status: 'Waiting',
      rawStatus: 'Waiting',
      since: at(0),
      terminal: false,
      outcome: null,
      attention: null,
    }),
    order_changes: () => bases.orders(),
    attention: () => bases.orders(),
    rides: () => ({
      account,
      requestId,
      stage: 'requesting',
      orderId: null,
      outcome: null,
      attention: null,
      failure: null,
    }),
    receipts: () => ({ account, orderId, currency: null, total: null, net: null, tax: null }),
  };
  let shown: State = bases[kind]();
  let last: State | null = null;
  let [run, notice, second] = [randomUUID(), 0, 0];
  return {
    async shows({ anew, ...next }: State & { anew?: true }, mustTell = true): Promise<void> {
      if (anew) [run, notice, last] = [randomUUID(), 0, null];
      shown = { ...shown, ...next };
      const told = toStored(kind, last, shown);
      expect(told !== null || !mustTell, `${JSON.stringify(next)} is told to the store`).toBe(true);
      if (told === null) return;
      last = shown;
      [notice, second] = [notice + 1, second + 1];
      await store.record({ run, notice, at: at(second), ...told });
    },
    async column(name: string): Promise<unknown> {
      const id =
        kind === 'rides'
          ? `request_id = '${requestId}'`
          : kind === 'attention'
            ? `id = '${orderId}'`
            : `order_id = '${orderId}'`;
      const latest = { order_changes: 'order by position', receipts: 'order by version', attention: 'order by since' };
      const by = latest[kind as keyof typeof latest] ?? '';
      const rows = await postgres.rows<{ value: unknown }>(
        `select ${name} as value from faretrail.${kind} where ${id} ${by}`,
      );
      return rows.at(-1)?.value;
    },
  };
}

const courses = Object.entries(columns).flatMap(([table, named]) =>
  Object.entries(named).flatMap(([column, course]): [Table, string, Course][] =>
    typeof course === 'string' ? [] : [[table as Table, column, course]],
  ),
);

describe('each column of the store', () => {
  it('has its course in this test', async () => {
    const found = await postgres.rows<{ table: string; column: string }>(
      `select table_name as table, column_name as column from information_schema.columns
        where table_schema = 'faretrail' and table_name <> 'migrations'`,
    );
    const tested = Object.entries(columns).flatMap(([table, named]) =>
      Object.keys(named).map((one) => `${table}.${one}`),
    );
    expect(found.map(({ table, column }) => `${table}.${column}`).toSorted()).toEqual(tested.toSorted());
  });

  it.each(courses)('%s.%s follows a value that comes late, changes and goes', async (table, column, course) => {
    const subject = subjectOf(table);
    await subject.shows(course.before, false);
    for (const step of [course.late, course.changes, course.goes]) {
      if (typeof step === 'string') continue;
      const [shows, value] = step;
      await subject.shows(shows);
      expect(await subject.column(column), JSON.stringify(shows)).toEqual(value);
    }
  });
});

it('a reference that was stored stays where a later run of the order knows none', async () => {
  const subject = subjectOf('orders');
  await subject.shows({ reference: 'trip-9' });
  await subject.shows({ reference: undefined, status: 'Driving', rawStatus: 'Driving', anew: true } as never);
  expect(await subject.column('reference')).toBe('trip-9');
});
