import { html } from 'ghtml';
import { referenceAdded } from '../../domain/order/trail.js';
import { fromFollowOrderId, fromNoticesId, fromRequestRideId } from '../../domain/workflow-ids.js';
import type { RunInNeed } from '../../temporal/attention.js';
import type { Missed } from '../../temporal/notices.js';
import type { Viewer } from '../access.js';
import type { AttentionRow, OrderRow, StoredOrder } from '../reads.js';
import type { OrderInTemporal } from '../runs.js';
import { button, facts, type Html, linkTo, part, pathOf, personal, time, words } from './layout.js';
import { allNeeds, type What, whatToDo } from './needs.js';
import { inWords, remedyFor } from './remedies.js';

/** Where the order stands. */
export const orderHead = (viewer: Viewer, { order }: StoredOrder): Html =>
  facts([
    ['Status', html`<b class="status">!${words(order.status ?? 'not read yet')}</b> since !${time(order.since)}`],
    order.raw_status !== null && order.raw_status !== order.status && ['Came as', words(order.raw_status)],
    ['Following', html`${order.outcome === null ? 'goes on' : `ended: ${order.outcome}`}`],
    ['Account', html`${order.account}`],
    ['Reference', personal(viewer, order.reference)],
    order.request_id !== null && ['Ride', linkTo('rides', order.account, order.request_id)],
    ['Last change', time(order.changed_at)],
  ]);

/** One thing that needs somebody, and what to do. */
const trouble = (viewer: Viewer, { command: _, ...what }: What): Html =>
  html`<section class="card">!${whatToDo(viewer, what)}</section>`;

/** What the store says of why it stands still. */
export const storedTrouble = (viewer: Viewer, attention: readonly AttentionRow[]): Html =>
  allNeeds(
    attention.filter(({ cleared_at }) => cleared_at === null),
    [],
  )
    .map((need) => trouble(viewer, need))
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
  const inUi = uiUrl && found ? html` · <a href="${uiUrl}" rel="noopener">in the Temporal UI</a>` : '';
  const looks = trail && `${trail.reads} reads, ${trail.deliveries.received} deliveries`;
  return html`!${own ? trouble(viewer, { ...own, remedy: remedyFor(own.code) }) : ''}!${allNeeds([], ofAccount).map((need) => trouble(viewer, need))}
!${facts([
    ['Run', html`${found?.state ?? 'Temporal remembers none'}!${inUi}`],
    ['Looked at by', html`${looks ?? (found?.isOpen ? 'no worker answers' : '–')}`],
  ])}!${acts}`;
}

function orderButtons(viewer: Viewer, { account, order_id, outcome }: OrderRow, known: OrderInTemporal | null): Html {
  const path = pathOf('orders', account, order_id);
  if (outcome !== null && outcome !== 'stopped' && outcome !== 'expired') return ''; // it has ended at the service
  const isOpen = known?.found ? known.found.isOpen : outcome === null;
  const buttons: Omit<Parameters<typeof button>[1], 'id'>[] = [
    { action: 'refresh', name: 'Read now', says: 'The order is read at the service now, which changes nothing there.' },
    {
      ...{ action: 'stop', name: 'Stop following', says: 'The order itself goes on at the service.' },
      fields: [{ name: 'reason', label: 'Why' }],
    },
    { action: 'follow', name: 'Follow again', says: 'The order is followed again, from its status at the service on.' },
  ];
  const shown = buttons.filter(({ action }) => (action === 'follow') !== isOpen);
  return html`<div class="acts">!${shown.map(({ action, ...more }) => button(viewer, { ...more, action: `${path}/${action}`, id: action }))}</div>`;
}

/** What a row of the timeline says beside the status. */
function moreOf({ type, outcome, attention }: Pick<StoredOrder['changes'][number], 'type' | 'outcome' | 'attention'>) {
  if (type === referenceAdded) return 'Reference added';
  return outcome ?? (attention ? inWords(attention) : '');
}

/** What has happened so far, the latest first. */
export function orderPast(viewer: Viewer, stored: StoredOrder, known: OrderInTemporal | null): Html {
  const changes = stored.changes.map(({ at, type, status, raw_status, outcome, attention }) => [
    time(at),
    html`<span class="status">!${words(status)}</span>!${raw_status === status ? '' : html` <small>came as !${words(raw_status)}</small>`}`,
    html`${moreOf({ type, outcome, attention })}`,
  ]);
  const periods = stored.attention.map(({ code, since, cleared_at, message }) => [
    html`${inWords(code)}`,
    ...[time(since), cleared_at === null ? 'now' : time(cleared_at), personal(viewer, message)],
  ]);
  const receipts = stored.receipts.map(({ version, total, net, tax, currency, at }) =>
    [String(version), total, net, tax, currency].map((one) => html`${one ?? '–'}`).concat(time(at)),
  );
  const decisions = (known?.decisions.toReversed() ?? []).map(({ at, what, by, principal }) => [
    ...[time(at), html`${what}`],
    html`!${words(by)}!${principal ? html` <small>proved: !${words(principal)}</small>` : ''}`,
  ]);
  return [
    part('Timeline', ['When', 'Status', 'More'], changes),
    part('Needed somebody', ['Why', 'From', 'Until', 'Message'], periods),
    part('Receipts', ['No.', 'Total', 'Net', 'Tax', 'Currency', 'Read'], receipts),
    missedPart(viewer, known?.missed ?? []),
    part('Who decided', ['When', 'What', 'Who'], decisions),
  ].join('');
}

/** Notices that their receivers have missed, with their answers. */
export const missedPart = (viewer: Viewer, missed: readonly Missed[]): Html =>
  part(
    'Lost notices',
    ['Button', 'About', 'Its answer', 'Receiver', 'Missed', 'What'], // a phone shows the first three
    missed.map((one, at) => [
      button(viewer, {
        action: '/notices/resend',
        id: `resend-${at}`,
        name: 'Send again',
        says: 'The receiver gets the notice again, under the same id as before.',
        fields: [
          { name: 'id', value: one.id },
          { name: 'missedAt', value: one.missedAt },
        ],
      }),
      aboutOf(one),
      html`${one.status === null ? one.reason : `HTTP ${one.status}`}`,
      html`${one.to}`,
      time(one.missedAt),
      html`${one.type} <small>${one.id}</small>`,
    ]),
  );

function aboutOf({ workflowId }: Missed): Html {
  const about = fromNoticesId(workflowId)?.about ?? '';
  const [order, ride] = [fromFollowOrderId(about), fromRequestRideId(about)];
  if (order) return linkTo('orders', order.account, order.orderId);
  return ride ? linkTo('rides', ride.account, ride.requestId) : html`${about}`;
}
