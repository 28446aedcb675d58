import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { toAccountName } from '../domain/keys.js';
import { toRideStatus } from '../domain/order/status.js';
import { toDeliveryId } from '../domain/parked.js';
import { toRideRequestId } from '../domain/ride/input.js';
import { followOrderId } from '../domain/workflow-ids.js';
import { may } from './access.js';
import { type Note, pageEnd, pageStart, pathOf } from './pages/layout.js';
import { needsPage } from './pages/needs.js';
import { orderHead, orderNow, orderPast, storedTrouble } from './pages/order.js';
import { ordersPage, readCursor, searchPage } from './pages/orders.js';
import { noticesPage, parkedPage, ridePage } from './pages/others.js';
import type { OrderFilter, Reads } from './reads.js';
import { type Runs, toOrderKey } from './runs.js';
import { createShared } from './shared.js';

/** Whom pages ask. */
export interface PageParts {
  reads: Reads;
  runs: Runs;
  /** Base address of the Temporal UI. */
  settings: { temporalUi: string | null };
}

interface Sending {
  /** What became of the last button, once. */
  readNote(request: FastifyRequest, reply: FastifyReply): Promise<Note | undefined>;
  send(reply: FastifyReply, content: string | AsyncIterable<string>): FastifyReply;
}

type OfOne = { Params: { account: string; id: string } };

/** Viewers of the same list within a second share one look at the store. */
const sharedMs = 1_000;

const orUnknown = <T>(call: Promise<T>): Promise<T | null> => call.catch(() => null);

/** All pages. What Temporal alone knows is missing on them while it does not answer. */
export function addPages(
  app: FastifyInstance,
  { reads, runs, settings }: PageParts,
  { readNote, send }: Sending,
): void {
  const inNeed = createShared(sharedMs, reads.inNeed);
  const lists = createShared(sharedMs, async (filter: string) => {
    const { before, ...given } = JSON.parse(filter) as OrderFilter;
    const isFirst = before === undefined && !given.status && given.state !== 'ended';
    const rides = isFirst ? reads.ridesWithoutOrder() : [];
    const [orders, all] = await Promise.all([reads.orders({ before, ...given }), rides]);
    return { orders, rides: all.filter(({ account }) => (given.account ?? account) === account) };
  });
  const frameOf = async (request: FastifyRequest, reply: FastifyReply) => ({
    viewer: request.viewer,
    note: await readNote(request, reply),
  });

  app.get('/', async (request, reply) => {
    const [frame, stored, known] = await Promise.all([frameOf(request, reply), inNeed(''), orUnknown(runs.inNeed())]);
    return send(reply, needsPage(frame, stored, known));
  });
  app.get<{ Querystring: Record<string, unknown> }>('/orders', async (request, reply) => {
    const filter = readFilter(request.query);
    return send(reply, ordersPage(await frameOf(request, reply), filter, await lists(JSON.stringify(filter))));
  });
  // A POST, since what is searched for must not stand in an address, and so in no log and no history of a browser.
  app.post('/search', async (request, reply) => {
    const { text } = request.body as { text?: string };
    const asked = (text ?? '').trim().slice(0, 128);
    if (asked === '') return reply.redirect('/orders', 303);
    const [orders, rides] = await Promise.all([
      reads.search(asked, may(request.viewer, 'personal')),
      reads.ridesWithoutOrder(asked),
    ]);
    const [order, ride] = [orders[0], rides[0]];
    if (orders.length + rides.length === 1) {
      if (order) return reply.redirect(pathOf('orders', order.account, order.order_id), 303);
      if (ride) return reply.redirect(pathOf('rides', ride.account, ride.request_id), 303);
    }
    return send(reply, searchPage(await frameOf(request, reply), asked, { orders, rides }));
  });
  app.get<OfOne>('/orders/:account/:id', async (request, reply) => {
    const key = toOrderKey({ account: request.params.account, orderId: request.params.id });
    const { account, orderId } = key;
    const known = orUnknown(runs.order(key));
    const needs = orUnknown(runs.inNeed());
    const [[order], changes, attention, rides, receipts] = await Promise.all([
      reads.order(account, orderId),
      reads.changesOf(account, orderId),
      reads.attentionOf('order', account, orderId),
      reads.ridesOf(account, orderId),
      reads.receiptsOf(account, orderId),
    ]);
    if (!order) return reply.callNotFound();
    const frame = await frameOf(request, reply);
    const { viewer } = frame;
    const stored = { order, changes, attention, rides, receipts };
    const uiUrl = settings.temporalUi
      ? `${settings.temporalUi}/namespaces/${encodeURIComponent(runs.namespace)}/workflows/${encodeURIComponent(followOrderId(key))}`
      : undefined;
    // What the store has is shown at once; what Temporal knows follows.
    async function* parts() {
      yield pageStart({ ...frame, title: `Order ${orderId}`, place: '/orders', live: `order ${account} ${orderId}` });
      yield `${orderHead(viewer, stored)}${storedTrouble(viewer, attention)}`;
      const now = await known;
      yield `${orderNow(viewer, stored, now, { needs: (await needs) ?? [], uiUrl })}${orderPast(viewer, stored, now)}${pageEnd}`;
    }
    return send(reply, parts());
  });
  app.get<OfOne>('/rides/:account/:id', async (request, reply) => {
    const account = toAccountName(request.params.account);
    const requestId = toRideRequestId(request.params.id);
    const [[ride], attention] = await Promise.all([
      reads.ride(account, requestId),
      reads.attentionOf('ride', account, requestId),
    ]);
    if (!ride) return reply.callNotFound();
    return send(reply, ridePage(await frameOf(request, reply), ride, attention));
  });
  app.get<OfOne>('/parked/:account/:id', async (request, reply) => {
    const key = { account: toAccountName(request.params.account), deliveryId: toDeliveryId(request.params.id) };
    const parked = await runs.parked(key);
    if (!parked) return reply.callNotFound();
    const { delivery, found } = parked;
    return send(reply, parkedPage(await frameOf(request, reply), key, { delivery, isOpen: found.isOpen }));
  });
  app.get('/notices', async (request, reply) =>
    send(reply, noticesPage(await frameOf(request, reply), await orUnknown(runs.missed()))),
  );
}

/** Reads the filter of a list from an address. Throws `InvalidInput`. */
function readFilter({ account, status, state, before }: Record<string, unknown>): OrderFilter {
  return {
    ...(account ? { account: toAccountName(account) } : {}),
    ...(typeof status === 'string' && status !== '' ? { status: toRideStatus(status) } : {}),
    ...(state === 'open' || state === 'ended' ? { state } : {}),
    ...(before ? { before: readCursor(before) } : {}),
  };
}
