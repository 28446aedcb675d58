import { sandboxProducts } from '../../../dev/sandbox/ride/catalogue.js';

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

/** ISO, so many milliseconds from now. */
export const inMs = (ms: number): string => new Date(Date.now() + ms).toISOString();
