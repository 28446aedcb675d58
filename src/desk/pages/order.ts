import { html } from 'ghtml';
import type { RunInNeed } from '../../cli/attention.js';
import type { Missed } from '../../cli/notice.js';
import { may, type Viewer } from '../access.js';
import type { AttentionRow, ChangeRow, OrderRow, ReceiptRow, RideRow } from '../reads.js';
import type { OrderInTemporal } from '../runs.js';
import { button, facts, field, type Html, linkTo, pathOf, personal, table, time } from './layout.js';
import { inWords, remedyFor, remedyOf } from './remedies.js';

/** What the store has of an order. */
export interface StoredOrder {
  order: OrderRow;
  changes: readonly ChangeRow[];
  attention: readonly AttentionRow[];
  rides: readonly RideRow[];
  receipts: readonly ReceiptRow[];
}

/** Where the order stands. */
export const orderHead = (viewer: Viewer, { order, rides }: StoredOrder): Html =>
  facts([
    ['Status', html`<b class="status">${order.status ?? 'not read yet'}</b> since !${time(order.since)}`],
    order.raw_status !== null && order.raw_status !== order.status && ['Came as', html`${order.raw_status}`],
    ['Following', html`${order.outcome === null ? 'goes on' : `ended: ${order.outcome}`}`],
    ['Account', html`${order.account}`],
    ['Reference', personal(viewer, order.reference)],
    ...rides.map((ride) => ['Ride', linkTo('rides', ride.account, ride.request_id)] as const),
    ['Last change', time(order.changed_at)],
  ]);

/** One thing that needs somebody, and what to do. */
const trouble = (
  viewer: Viewer,
  code: string,
  since: Date | string | null,
  message: string | null,
  remedy: string,
): Html =>
  html`<section class="card"><p class="code"><b>${inWords(code)}</b> since !${time(since)}</p>
!${message && may(viewer, 'personal') ? html`<p>${message}</p>` : ''}<p class="remedy">${remedy}</p></section>`;

/** What the store says of why it stands still. */
export const storedTrouble = (viewer: Viewer, attention: readonly AttentionRow[]): Html =>
  attention
    .filter(({ cleared_at }) => cleared_at === null)
    .map(({ code, since, message }) => trouble(viewer, code, since, message, remedyFor(code)))
    .join('');

/** What only Temporal knows, and the buttons. `known`: null while it does not answer. */
export function orderNow(
  viewer: Viewer,
  { order, attention }: StoredOrder,
  known: OrderInTemporal | null,
  { needs, uiUrl }: { needs: readonly RunInNeed[]; uiUrl: string | undefined },
): Html {
  const acts = orderButtons(viewer, order, known);
  if (!known)
    return html`<p class="note bad" role="alert">Temporal does not answer. What follows is what the store has; buttons may not work now.</p>!${acts}`;
  const { found, trail } = known;
  const isStored = (code: string) => attention.some((one) => one.cleared_at === null && one.code === code);
  const own = trail?.attention && !isStored(trail.attention.code) ? trail.attention : null;
  const ofAccount = needs.filter(
    ({ account, kind }) => account === order.account && ['watch', 'account', 'token'].includes(kind),
  );
  const look = trail && `${trail.reads} reads, ${trail.deliveries.received} deliveries`;
  return html`!${own ? trouble(viewer, own.code, own.since, own.message, remedyFor(own.code)) : ''}
!${ofAccount.map((need) => trouble(viewer, need.code, need.since, need.message, remedyOf(need)))}
!${facts([
    [
      'Run',
      html`${found ? found.state : 'Temporal remembers none'}!${uiUrl && found ? html` · <a href="${uiUrl}" rel="noopener">in the Temporal UI</a>` : ''}`,
    ],
    look ? ['Looked at by', html`${look}`] : ['Looked at by', html`${found?.isOpen ? 'no worker answers' : '–'}`],
  ])}!${acts}`;
}

function orderButtons(viewer: Viewer, { account, order_id, outcome }: OrderRow, known: OrderInTemporal | null): Html {
  const path = pathOf('orders', account, order_id);
  if (outcome !== null && outcome !== 'stopped' && outcome !== 'expired') return ''; // it has ended at the service
  const isOpen = known?.found ? known.found.isOpen : outcome === null;
  if (isOpen)
    return html`<div class="acts">!${button(viewer, {
      action: `${path}/refresh`,
      id: 'refresh',
      name: 'Read now',
      says: 'faretrail reads the order at the service now. This changes nothing at the service.',
    })}!${button(viewer, {
      action: `${path}/stop`,
      id: 'stop',
      name: 'Stop following',
      says: 'faretrail no longer follows the order. The order itself goes on at the service.',
      fields: field('reason', 'Why', { id: 'stop-reason' }),
    })}</div>`;
  return html`<div class="acts">!${button(viewer, {
    action: `${path}/follow`,
    id: 'follow',
    name: 'Follow again',
    says: 'faretrail follows the order again, from its status at the service on.',
  })}</div>`;
}

const changeTexts: Readonly<Record<string, string>> = {
  'order.changed': 'status',
  'order.ended': 'end',
  'attention.raised': 'needs somebody',
  'attention.cleared': 'no longer needs somebody',
};

/** What has happened so far, the latest first. */
export function orderPast(
  viewer: Viewer,
  { changes, attention, receipts }: StoredOrder,
  known: OrderInTemporal | null,
): Html {
  const rows = changes.map(({ at, type, status, raw_status, outcome, attention: code }) => [
    time(at),
    html`${changeTexts[type] ?? type}`,
    html`<span class="status">${status ?? '–'}</span>!${raw_status === status ? '' : html` <small>came as ${raw_status}</small>`}`,
    html`${outcome ?? (code ? inWords(code) : '')}`,
  ]);
  const periods = attention.map(({ code, since, cleared_at, message }) => [
    html`${inWords(code)}`,
    time(since),
    cleared_at === null ? 'now' : time(cleared_at),
    personal(viewer, message),
  ]);
  const bills = receipts.map(({ version, total, net, tax, currency, at }) =>
    [String(version), total, net, tax, currency].map((one) => html`${one ?? '–'}`).concat(time(at)),
  );
  const decisions = known?.decisions.map(({ at, what, by, principal }) => [
    time(at),
    html`${what}`,
    html`${by}!${principal ? html` <small>proved: ${principal}</small>` : ''}`,
  ]);
  return html`<h2>Timeline</h2>!${table('Timeline', ['When', 'What', 'Status', 'More'], rows)}
!${periods.length > 0 ? html`<h2>Needed somebody</h2>!${table('Needed somebody', ['Why', 'From', 'Until', 'Message'], periods)}` : ''}
!${bills.length > 0 ? html`<h2>Receipts</h2>!${table('Receipts', ['No.', 'Total', 'Net', 'Tax', 'Currency', 'Read'], bills)}` : ''}
!${known && known.missed.length > 0 ? html`<h2>Lost notices</h2>!${missedTable(viewer, known.missed)}` : ''}
!${decisions && decisions.length > 0 ? html`<h2>Who decided</h2>!${table('Who decided', ['When', 'What', 'Who'], decisions)}` : ''}`;
}

/** Notices that their receivers have missed, with their answers. */
export const missedTable = (viewer: Viewer, missed: readonly Missed[]): Html =>
  table(
    'Lost notices',
    ['Missed', 'Receiver', 'Its answer', 'What', 'About', 'Button'],
    missed.map((one, at) => [
      time(one.missedAt),
      html`${one.to}`,
      html`${one.status === null ? one.reason : `HTTP ${one.status}`}`,
      html`${one.type}`,
      html`<small>${one.id}</small>`,
      button(viewer, {
        action: '/notices/resend',
        id: `resend-${at}`,
        name: 'Send again',
        says: 'The receiver gets the notice again, under the same id as before.',
        fields: html`<input type="hidden" name="id" value="${one.id}"><input type="hidden" name="missedAt" value="${one.missedAt}">`,
      }),
    ]),
  );
