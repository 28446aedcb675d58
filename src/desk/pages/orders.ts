import { html } from 'ghtml';
import { InvalidInput } from '../../domain/errors.js';
import { toInstant } from '../../domain/instant.js';
import { toAccountName, toOrderId } from '../../domain/keys.js';
import { endStatuses, openStatuses } from '../../domain/order/status.js';
import type { Viewer } from '../access.js';
import { type OrderFilter, type OrderRow, pageSize, type RideRow } from '../reads.js';
import { type Html, linkTo, page, part, personal, type Seen, time, words } from './layout.js';
import { inWords } from './remedies.js';

/** The last order of a page, as the next page needs it. */
export const toCursor = ({ changed_at, account, order_id }: OrderRow): string =>
  Buffer.from(JSON.stringify([changed_at.toISOString(), account, order_id])).toString('base64url');

/** Reads it; nothing for none. Throws `InvalidInput` for anything else. */
export function readCursor(text: unknown): Pick<OrderFilter, 'before'> {
  if (text === undefined || text === '') return {};
  const [given, account, orderId] = parts(String(text));
  const at = toInstant(given, 'before');
  if (!/^[12]/.test(at)) throw new InvalidInput('before: must be of the years 1000 to 2999'); // PostgreSQL knows no year 0
  return { before: [at, toAccountName(account), toOrderId(orderId)] };
}

function parts(cursor: string): unknown[] {
  try {
    return [JSON.parse(Buffer.from(cursor, 'base64url').toString())].flat();
  } catch {
    return [];
  }
}

const orderRow = (viewer: Viewer, row: OrderRow): Html[] => [
  linkTo('orders', row.account, row.order_id),
  html`${row.account}`,
  html`<span class="status">!${words(row.status ?? 'not read yet')}</span>!${row.attention ? html` <b class="code">${inWords(row.attention)}</b>` : ''}`,
  html`${row.outcome ?? ''}`,
  personal(viewer, row.reference),
  row.request_id === null ? '–' : linkTo('rides', row.account, row.request_id),
  time(row.changed_at),
];

/** What a list or a search has found. */
interface Listed {
  orders: readonly OrderRow[];
  /** Of which no order is known. */
  rides: readonly RideRow[];
}

function listedParts(viewer: Viewer, { orders, rides }: Listed): Html {
  const rideRows = rides.map((ride) => [
    linkTo('rides', ride.account, ride.request_id),
    html`${ride.account}`,
    html`${ride.ended ? 'ended' : 'no order yet'}!${ride.attention ? html` <b class="code">${inWords(ride.attention)}</b>` : ''}`,
    time(ride.changed_at),
  ]);
  const rows = orders.map((row) => orderRow(viewer, row));
  const found = part('Orders', ['Order', 'Account', 'Status', 'Outcome', 'Reference', 'Ride', 'Changed'], rows);
  return html`!${part('Rides without an order', ['Ride', 'Account', 'Standing', 'Changed'], rideRows)}
!${found || html`<p>No order fits.</p>`}`;
}

const states = { '': 'all', open: 'followed now', ended: 'ended' } as const;

function filterForm({ account, status, state }: OrderFilter): Html {
  return html`<form method="get" action="/orders" class="filter">
<p><label for="account">Account</label><input id="account" name="account" value="${account ?? ''}" maxlength="40" autocomplete="off"></p>
<p><label for="status">Status</label><input id="status" name="status" value="${status ?? ''}" maxlength="200" list="statuses" autocomplete="off">
<datalist id="statuses">!${[...openStatuses, ...endStatuses].map((one) => html`<option value="${one}"></option>`)}</datalist></p>
<p><label for="state">Following</label><select id="state" name="state">!${Object.entries(states).map(
    ([value, label]) => html`<option value="${value}" !${value === (state ?? '') ? 'selected' : ''}>${label}</option>`,
  )}</select></p>
<button>Filter</button></form>`;
}

/** The orders that fit a filter, the newest change first. */
export function ordersPage(frame: Seen, filter: OrderFilter, { orders, rides }: Listed): Html {
  const shown = orders.slice(0, pageSize);
  const last = orders.length > pageSize ? shown.at(-1) : undefined;
  const { account = '', status = '', state = '' } = filter;
  const next = last && new URLSearchParams({ account, status, state, before: toCursor(last) });
  return page(
    { ...frame, title: 'Orders and rides', place: '/orders', ...(filter.before ? {} : { live: 'orders' }) },
    html`!${filterForm(filter)}!${listedParts(frame.viewer, { orders: shown, rides })}
!${next ? html`<p><a href="/orders?${next}" rel="next">Older orders</a></p>` : ''}`,
  );
}

/** What a search has found. The text stands in no address. */
export function searchPage(frame: Seen, text: string, listed: Listed): Html {
  const title = listed.orders.length + listed.rides.length === 0 ? 'Nothing begins like this' : 'Found';
  return page({ ...frame, title, place: '/orders', searched: text }, listedParts(frame.viewer, listed));
}
