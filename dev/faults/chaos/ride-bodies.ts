import { sandboxProducts } from '../../sandbox/ride/catalogue.js';

/** What only encrypted payloads may hold. */
export const passenger = { name: 'Pat Example', phone: '15550100200', address: 'Example Street 1' };

const user = { name: passenger.name, phone: passenger.phone };
const location = { lat: 52.5, lng: 13.4, full_address: passenger.address };
/** At the speed of the sandbox the ride can change during the first half minute. */
const leadMs = 45_000;

/** The body of an on-demand ride, or of a scheduled ride, which can change. */
export const rideBody = (isScheduled: boolean): Record<string, unknown> => ({
  category: 'transportation',
  product_id: sandboxProducts.standard.id,
  stops: [
    { type: 'origin', actions: [{ type: 'pick_up', user }], location },
    { type: 'destination', actions: [{ type: 'drop_off', user }], location },
  ],
  ...(isScheduled && { scheduled_at: new Date(Date.now() + leadMs).toISOString() }),
});

/** A change that the judge can find in the order. */
export const changeOf = (requestId: string): Record<string, unknown> => ({ note_to_driver: `for ${requestId}` });
