import fc from 'fast-check';
import { afterAll, beforeAll, it } from 'vitest';
import { isLong } from '../../support/long.js';
import {
  type DeliveryStack,
  deliveryCourses,
  goThroughDeliveries,
  startDeliveryStack,
} from '../../support/order/delivery-courses.js';

let on: DeliveryStack;
beforeAll(async () => {
  on = await startDeliveryStack();
});
afterAll(() => on.stack.close());

it('keeps its promises however changes, deliveries, reads, restarts, mistaken ends and continued runs interleave', {
  timeout: isLong ? 1_800_000 : 120_000,
}, async () => {
  const property = fc.asyncProperty(deliveryCourses, async (steps) => {
    await goThroughDeliveries(on, steps);
  });
  await fc.assert(property, { numRuns: isLong ? 150 : 6, endOnFailure: true });
});
