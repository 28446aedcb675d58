import { expect, it } from 'vitest';
import { attention, createBrowser, orderChange, rideChange, useDesk } from './scene.js';

const desk = useDesk();

it('looks', async () => {
  await desk.store.record(orderChange('7b21', 1, { reference: 'Anna Berg' }));
  await desk.store.record(
    orderChange('7b21', 2, { reference: 'Anna Berg', attention: attention('latePickup', 'The pick-up was due') }),
  );
  await desk.store.record(rideChange('trip-9', { attention: attention('outcomeUnknown', 'The answer was lost') }));
  const browser = createBrowser(desk.origin);
  for (const path of ['/', '/orders', '/orders/business/7b21', '/rides/business/trip-9', '/notices'])
    console.log(path, (await browser.get(path)).slice(0, 6000));
  expect(desk.logged).toEqual([]);
});
