import { sandboxProducts } from '../../sandbox/ride/catalogue.js';

const user = { name: 'Pat Example', phone: '15550100200' };
const location = { lat: 52.5, lng: 13.4, full_address: 'Example Street 1' };

/** The body of a create: a ride as soon as possible. */
export const rideBody = {
  category: 'transportation',
  product_id: sandboxProducts.standard.id as string,
  stops: [
    { type: 'origin', actions: [{ type: 'pick_up', user }], location },
    { type: 'destination', actions: [{ type: 'drop_off', user }], location },
  ],
};
