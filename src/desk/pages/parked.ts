import { html } from 'ghtml';
import { parkReasonTexts } from '../../domain/delivery.js';
import type { ParkedDelivery } from '../../domain/parked.js';
import type { ParkedDeliveryKey } from '../../domain/workflow-ids.js';
import type { WaitingDelivery } from '../../temporal/parked.js';
import type { Found } from '../../temporal/visibility.js';
import type { Viewer } from '../access.js';
import { button, facts, type Html, linkTo, page, part, pathOf, type Seen, temporalAway, time } from './layout.js';

/** One parked delivery. `delivery`: null until a worker has read it. */
export function parkedPage(
  frame: Seen,
  { account, deliveryId }: ParkedDeliveryKey,
  { delivery, isOpen }: { delivery: ParkedDelivery | null; isOpen: boolean },
): Html {
  const path = pathOf('parked', account, deliveryId);
  const about = delivery?.aboutOrderId;
  const acts = html`<div class="acts">!${button(frame.viewer, {
    ...{ action: `${path}/route`, id: 'route', name: 'Give to an order', says: 'The order is read because of it.' },
    fields: [{ name: 'orderId', label: 'Order id', value: about ?? '' }],
  })}!${button(frame.viewer, {
    ...{ action: `${path}/discard`, id: 'discard', name: 'Discard', says: 'The delivery leads to nothing.' },
    fields: [{ name: 'reason', label: 'Why' }],
  })}</div>`;
  return page(
    { ...frame, title: 'Parked delivery', place: '/' },
    html`!${facts([
      ['Delivery', html`<code>${deliveryId}</code>`],
      ['Account', html`${account}`],
      ['Why', html`${delivery ? parkReasonTexts[delivery.reason] : 'not known yet'}`],
      ['What', html`${delivery?.eventType ?? '–'}`],
      ['Received', time(delivery?.receivedAt)],
      ["Happened, by the service's clock", delivery?.eventTime ? time(delivery.eventTime) : 'not told'],
      ['Order', about ? linkTo('orders', account, about) : 'none is named'],
      ['Standing', html`${isOpen ? 'waits for a decision' : (delivery?.outcome ?? 'ended')}`],
    ])}!${isOpen ? acts : ''}`,
  );
}

const mostRows = 200;

/** The deliveries that wait, with a button for all of one address; null while Temporal does not answer. */
export function allParkedPage(frame: Seen, found: Found<WaitingDelivery> | null): Html {
  const shown = found ? parkedList(frame, found) : temporalAway('only it knows of parked deliveries');
  return page({ ...frame, title: 'Parked deliveries', place: '/' }, shown);
}

function parkedList({ viewer }: Seen, { rows, hasMore }: Found<WaitingDelivery>): Html {
  if (rows.length === 0) return html`<p>No delivery is parked.</p>`;
  const addresses = new Map<string, WaitingDelivery[]>();
  for (const one of rows) {
    const address = `${one.account}-${one.eventType ?? ''}`;
    const before = addresses.get(address);
    if (before) before.push(one);
    else addresses.set(address, [one]);
  }
  const cards = [...addresses].map(([address, ofAddress]) => addressCard(viewer, address, ofAddress));
  const table = rows
    .slice(0, mostRows)
    .map(({ account, deliveryId, eventType, reason, receivedAt }) => [
      linkTo('parked', account, deliveryId),
      html`${account}`,
      html`${eventType ?? '–'}`,
      html`${reason ? parkReasonTexts[reason] : 'not known yet'}`,
      time(receivedAt),
    ]);
  const count = `${hasMore ? 'More than ' : ''}${rows.length}`;
  const cut = rows.length > mostRows ? `, of which ${mostRows} are listed below` : '';
  return html`<p>${count} wait for a decision${cut}.</p><ol class="cards">!${cards}</ol>
!${part('Deliveries', ['Delivery', 'Account', 'What', 'Why', 'Received'], table)}`;
}

/** What waits of one address. No button while no worker has read it: the event is not known. */
function addressCard(viewer: Viewer, address: string, ofAddress: readonly WaitingDelivery[]): Html {
  const [{ account = '', eventType = undefined } = {}] = ofAddress;
  const discard = button(viewer, {
    ...{ action: '/parked/discard', id: `discard-${address}`, name: 'Discard all' },
    says: 'These deliveries lead to nothing. Orders are found by reading all the same.',
    fields: [
      { name: 'account', value: account },
      { name: 'eventType', value: eventType ?? '' },
      { name: 'reason', label: 'Why' },
    ],
  });
  const what = eventType ?? 'not read by a worker yet';
  return html`<li class="card"><h2>${ofAddress.length} of ${what} <small>${account}</small></h2>!${eventType ? discard : ''}</li>`;
}
