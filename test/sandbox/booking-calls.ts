import { sandboxProducts } from '../../sandbox/catalogue.js';
import { type Sandbox, sandboxCredentials } from '../../sandbox/sandbox.js';
import { call, type Seen } from './calls.js';

/** How a call differs from a correct one. */
export interface CallChange {
  token?: string;
  requestId?: string;
  query?: string;
  headers?: Record<string, string>;
}

const company = `?businessId=${sandboxCredentials.business.businessId}`;

/** One call of the business interface with all that it must carry. A string is sent as it is. */
export function businessCall(
  { url }: Pick<Sandbox, 'url'>,
  method: string,
  path: string,
  body: unknown,
  { token = '', requestId, query = company, headers = {} }: CallChange,
): Promise<Seen> {
  const sent = {
    accept: 'application/json',
    'content-type': 'application/json',
    authorization: `Bearer ${token}`,
    ...(requestId === undefined ? {} : { 'x-request-id': requestId }),
    ...headers,
  };
  const text = typeof body === 'string' || body === undefined ? body : JSON.stringify(body);
  return call(method, `${url}${path}${query}`, sent, text);
}

const user = { name: 'Pat Example', phone: '15550100200' };
const place = { lat: 52.5, lng: 13.4, full_address: 'Example Street 1' };

/** A stop with one action. */
export const stop = (type: string, action: string, location: object = place, more: object = {}) => ({
  type,
  actions: [{ type: action, user, ...more }],
  location,
});

/** The body of a ride as soon as possible. */
export const newRide = (change: Record<string, unknown> = {}) => ({
  category: 'transportation',
  product_id: sandboxProducts.standard.id as string,
  stops: [stop('origin', 'pick_up'), stop('destination', 'drop_off')],
  ...change,
});

/** The body of a parcel to bring. */
export const newDelivery = (change: Record<string, unknown> = {}) => ({
  category: 'delivery',
  product_id: sandboxProducts.parcel.id as string,
  stops: ['origin', 'destination'].map((type, i) =>
    stop(type, i === 0 ? 'pick_up' : 'drop_off', place, { parcel: { name: 'A box' } }),
  ),
  ...change,
});

/** ISO, so many milliseconds from now. */
export const inMs = (ms: number): string => new Date(Date.now() + ms).toISOString();
