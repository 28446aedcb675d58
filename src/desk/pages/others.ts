import { html } from 'ghtml';
import type { Missed } from '../../temporal/notices.js';
import type { AttentionRow, RideRow } from '../reads.js';
import { button, facts, type Html, linkTo, page, pathOf, type Seen, temporalAway, time } from './layout.js';
import { missedPart, storedTrouble } from './order.js';

/** Does the ride wait for a person because its order may or may not exist? */
export const isDoubtful = ({ ended, attention }: RideRow): boolean => !ended && attention === 'outcomeUnknown';

/** One ride, and what to decide about it. `suggested`: an order that the service named in an answer. */
export function ridePage(
  frame: Seen,
  ride: RideRow,
  attention: readonly AttentionRow[],
  suggested: string | null = null,
): Html {
  const { account, request_id: id, order_id: orderId, ended, outcome, failure } = ride;
  const { viewer } = frame;
  const action = `${pathOf('rides', account, id)}/resolve`;
  const asks = isDoubtful(ride) && !frame.note?.isGood; // the store learns of it a moment later
  const ways = [
    {
      ...{ id: 'made', name: 'It was made', says: 'This order is followed from now on.' },
      fields: [{ name: 'orderId', label: 'Order id at the service', value: suggested ?? '' }],
    },
    {
      id: 'tryAgain',
      name: 'Order it now',
      says: 'If the first attempt did work, the passenger gets two cars and you pay for both.',
      fields: [],
    },
    {
      ...{ id: 'giveUp', name: 'Give it up', says: 'The ride ends without an order.' },
      fields: [{ name: 'reason', label: 'Why' }],
    },
  ];
  const buttons = ways.map(({ fields, ...way }) =>
    button(viewer, { ...way, action, fields: [{ name: 'how', value: way.id }, ...fields] }),
  );
  const named = html`<p>The service named order <code>${suggested}</code> in an answer. Check that it is the order of this ride.</p>`;
  const decide = html`<h2>Was the order made?</h2>
!${suggested === null ? '' : named}<p>Check with the service for the request id <code>ride.${account}.${id}</code>, then choose.</p><div class="acts">!${buttons}</div>`;
  return page(
    { ...frame, title: `Ride ${id}`, place: '/orders', live: `ride ${account} ${id}` },
    html`!${facts([
      ['Account', html`${account}`],
      ['Order', orderId === null ? 'none is known' : linkTo('orders', account, orderId)],
      ['Standing', html`${ended ? `ended: ${outcome ?? failure ?? 'without a result'}` : 'goes on'}`],
      ['Last change', time(ride.changed_at)],
    ])}!${storedTrouble(viewer, attention)}!${asks ? decide : ''}`,
  );
}

/** All missed notices; null while Temporal does not answer. */
export function noticesPage(frame: Seen, missed: readonly Missed[] | null): Html {
  const away = temporalAway('only it knows of lost notices');
  const list = missed ? missedPart(frame.viewer, missed) || html`<p>No receiver has missed a notice.</p>` : away;
  return page(
    { ...frame, title: 'Lost notices', place: '/notices' },
    html`<p>Their receivers refused these, or did not take them within a day. Each can be sent again for a week.</p>!${list}`,
  );
}
