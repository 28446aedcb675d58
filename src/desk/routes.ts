import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { InvalidInput } from '../domain/errors.js';
import { toAccountName, toOrderId } from '../domain/keys.js';
import { toRideStatus } from '../domain/order/status.js';
import { toDeliveryId } from '../domain/parked.js';
import { toRideRequestId } from '../domain/ride/input.js';
import { followOrderId } from '../domain/workflow-ids.js';
import type { DeskSettings } from '../settings/desk.js';
import { type Cookies, may } from './access.js';
import { fieldsOf } from './acts.js';
import { type Note, pageEnd, pageStart, pathOf } from './pages/layout.js';
import { needsPage } from './pages/needs.js';
import { orderHead, orderNow, orderPast, storedTrouble } from './pages/order.js';
import { ordersPage, readCursor, searchPage } from './pages/orders.js';
import { isDoubtful, noticesPage, ridePage } from './pages/others.js';
import { allParkedPage, parkedPage } from './pages/parked.js';
import type { OrderFilter, Reads, StoredOrder } from './reads.js';
import type { Runs } from './runs.js';
import { createShared } from './shared.js';

/** Whom pages ask. */
export interface PageParts {
  reads: Reads;
  runs: Runs;
  settings: Pick<DeskSettings, 'temporalUi'>;
}

/** In characters. */
const longestSearch = 128;

type OfOne = { Params: { account: string; id: string } };

/** Viewers of the same list within a second share one look at the store. */
const share = <T>(look: (key: string) => Promise<T>) => createShared(1_000, look);
const orUnknown = <T>(call: Promise<T>): Promise<T | null> => call.catch(() => null);

/** The orders that fit, and on the first page the rides that have none yet. */
async function listOf(reads: Reads, filter: OrderFilter) {
  const isFirst = !filter.before && !filter.status && filter.state !== 'ended';
  const [orders, all] = await Promise.all([reads.orders(filter), isFirst ? reads.ridesWithoutOrder() : []]);
  return { orders, rides: all.filter(({ account }) => (filter.account ?? account) === account) };
}

/** All pages. What Temporal alone knows is missing on them while it does not answer. */
export function addPages(app: FastifyInstance, { reads, runs, settings }: PageParts, cookies: Cookies): void {
  const inNeed = share(reads.inNeed);
  const lists = share((filter) => listOf(reads, JSON.parse(filter)));
  const frameOf = async (request: FastifyRequest, reply: FastifyReply) => {
    const note = (await cookies.read(request.headers.cookie, 'note')) as Note | undefined;
    if (note) reply.header('set-cookie', cookies.clear('note')); // it is said once
    return { viewer: note?.unsent ? { ...request.viewer, unsent: note.unsent } : request.viewer, note };
  };
  const send = (reply: FastifyReply, content: string | AsyncIterable<string>): FastifyReply =>
    reply.type('text/html; charset=utf-8').send(typeof content === 'string' ? content : Readable.from(content));

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
    const { text } = fieldsOf(request);
    const asked = (text ?? '').trim();
    if (asked.length > longestSearch) throw new InvalidInput(`text: must have at most ${longestSearch} characters`);
    if (asked === '') return reply.redirect('/orders', 303);
    const [orders, rides] = await Promise.all([
      reads.search(asked, may(request.viewer, 'personal')),
      reads.ridesWithoutOrder(asked),
    ]);
    const [only, more] = [
      ...orders.map((one) => pathOf('orders', one.account, one.order_id)),
      ...rides.map((one) => pathOf('rides', one.account, one.request_id)),
    ];
    if (only && !more) return reply.redirect(only, 303);
    return send(reply, searchPage(await frameOf(request, reply), asked, { orders, rides }));
  });
  app.get<OfOne>('/orders/:account/:id', async (request, reply) => {
    const key = { account: toAccountName(request.params.account), orderId: toOrderId(request.params.id) };
    const known = orUnknown(runs.order(key));
    const needs = orUnknown(runs.inNeed());
    const stored = await reads.order(key.account, key.orderId);
    if (!stored) return reply.callNotFound();
    const frame = await frameOf(request, reply);
    const uiUrl = settings.temporalUi
      ? `${settings.temporalUi}/namespaces/${encodeURIComponent(runs.namespace)}/workflows/${encodeURIComponent(followOrderId(key))}`
      : undefined;
    // What the store has is shown at once; what Temporal knows follows.
    const parts = async function* (stored: StoredOrder) {
      const live = `order ${key.account} ${key.orderId}`;
      yield pageStart({ ...frame, title: `Order ${key.orderId}`, place: '/orders', live });
      yield `${orderHead(frame.viewer, stored)}${storedTrouble(frame.viewer, stored.attention)}`;
      const now = await known;
      yield `${orderNow(frame.viewer, stored, now, { needs: (await needs)?.rows ?? [], uiUrl })}${orderPast(frame.viewer, stored, now)}${pageEnd}`;
    };
    return send(reply, parts(stored));
  });
  app.get<OfOne>('/rides/:account/:id', async (request, reply) => {
    const account = toAccountName(request.params.account);
    const requestId = toRideRequestId(request.params.id);
    const [[ride], attention] = await Promise.all([
      reads.ride(account, requestId),
      reads.attentionOf('ride', account, requestId),
    ]);
    if (!ride) return reply.callNotFound();
    const suggested = isDoubtful(ride) ? await runs.suggestedOrder(account, requestId) : null;
    return send(reply, ridePage(await frameOf(request, reply), ride, attention, suggested));
  });
  app.get('/parked', async (request, reply) =>
    send(reply, allParkedPage(await frameOf(request, reply), await orUnknown(runs.allParked()))),
  );
  app.get<OfOne>('/parked/:account/:id', async (request, reply) => {
    const key = { account: toAccountName(request.params.account), deliveryId: toDeliveryId(request.params.id) };
    const parked = await runs.parked(key);
    if (!parked) return reply.callNotFound();
    return send(reply, parkedPage(await frameOf(request, reply), key, parked));
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
    ...readCursor(before),
  };
}
