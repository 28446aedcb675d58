import { html } from 'ghtml';
import { endStatuses, openStatuses } from '../../domain/order/status.js';
import { may, type Viewer } from '../access.js';
import { type OrderFilter, type OrderRow, pageSize, type RideRow } from '../reads.js';
import { type Frame, type Html, linkTo, page, personal, table, time } from './layout.js';
import { inWords } from './remedies.js';

/** The last order of a page, as the next page needs it. */
export const toCursor = ({ changed_at, account, order_id }: OrderRow): string =>
  Buffer.from(JSON.stringify([changed_at.toISOString(), account, order_id])).toString('base64url');

/** Reads it; undefined for anything else. */
export function readCursor(text: unknown): OrderFilter['before'] {
  try {
    const [at, account, orderId, ...more] = JSON.parse(Buffer.from(String(text), 'base64url').toString());
    const isCursor = [at, account, orderId].every((one) => typeof one === 'string') && more.length === 0;
    return isCursor && !Number.isNaN(Date.parse(at)) ? [at, account, orderId] : undefined;
  } catch {
    return undefined;
  }
}

const orderRow = (viewer: Viewer, row: OrderRow): Html[] => [
  linkTo('orders', row.account, row.order_id),
  html`${row.account}`,
  html`<span class="status">${row.status ?? 'not read yet'}</span>!${row.attention ? html` <b class="code">${inWords(row.attention)}</b>` : ''}`,
  html`${row.outcome ?? ''}`,
  personal(viewer, row.reference),
  row.request_id === null ? '–' : linkTo('rides', row.account, row.request_id),
  time(row.changed_at),
];

const ordersTable = (viewer: Viewer, rows: readonly OrderRow[]): Html =>
  rows.length === 0
    ? html`<p>No order fits.</p>`
    : table(
        'Orders',
        ['Order', 'Account', 'Status', 'Outcome', 'Reference', 'Ride', 'Changed'],
        rows.map((row) => orderRow(viewer, row)),
      );

/** Rides of which no order is known. */
function ridesPart(rides: readonly RideRow[]): Html {
  if (rides.length === 0) return '';
  const rows = rides.map((ride) => [
    linkTo('rides', ride.account, ride.request_id),
    html`${ride.account}`,
    html`${ride.ended ? 'ended' : 'no order yet'}!${ride.attention ? html` <b class="code">${inWords(ride.attention)}</b>` : ''}`,
    time(ride.changed_at),
  ]);
  return html`<h2>Rides without an order</h2>!${table('Rides without an order', ['Ride', 'Account', 'Standing', 'Changed'], rows)}`;
}

const choice = (value: string, label: string, now: string | undefined): Html =>
  html`<option value="${value}" !${value === (now ?? '') ? 'selected' : ''}>${label}</option>`;

function filterForm({ account, status, state }: OrderFilter): Html {
  return html`<form method="get" action="/orders" class="filter">
<p><label for="account">Account</label><input id="account" name="account" value="${account ?? ''}" maxlength="40" autocomplete="off"></p>
<p><label for="status">Status</label><input id="status" name="status" value="${status ?? ''}" maxlength="200" list="statuses" autocomplete="off">
<datalist id="statuses">!${[...openStatuses, ...endStatuses].map((one) => html`<option value="${one}"></option>`)}</datalist></p>
<p><label for="state">Following</label><select id="state" name="state">!${choice('', 'all', state)}!${choice('open', 'followed now', state)}!${choice('ended', 'ended', state)}</select></p>
<button>Filter</button></form>`;
}

/** The orders that fit a filter, the newest change first. */
export function ordersPage(
  frame: Omit<Frame, 'title' | 'place' | 'live'>,
  filter: OrderFilter,
  { orders, rides }: { orders: readonly OrderRow[]; rides: readonly RideRow[] },
): Html {
  const shown = orders.slice(0, pageSize);
  const last = shown.at(-1);
  const { account = '', status = '', state = '' } = filter;
  const next =
    orders.length > pageSize && last && new URLSearchParams({ account, status, state, before: toCursor(last) });
  return page(
    { ...frame, title: 'Orders and rides', place: '/orders', ...(filter.before ? {} : { live: 'orders' }) },
    html`!${filterForm(filter)}!${ridesPart(rides)}<h2>Orders</h2>!${ordersTable(frame.viewer, shown)}
!${next ? html`<p><a href="/orders?${next}" rel="next">Older orders</a></p>` : ''}`,
  );
}

/** What a search has found. The text stands in no address. */
export function searchPage(
  frame: Omit<Frame, 'title' | 'place' | 'live'>,
  text: string,
  { orders, rides }: { orders: readonly OrderRow[]; rides: readonly RideRow[] },
): Html {
  const where = may(frame.viewer, 'personal') ? 'An order id, a ride or a reference' : 'An order id or a ride';
  return page(
    { ...frame, title: 'Found', place: '/orders' },
    html`<p>${where} that begins with “${text}”:</p>!${ridesPart(rides)}!${ordersTable(frame.viewer, orders)}`,
  );
}
