import { defineQuery, defineUpdate } from '@temporalio/workflow';
import type { ParkedDelivery } from '../domain/parked-delivery.js';
import type { RoutedDelivery } from '../domain/parked-delivery-input.js';

/** Gives the delivery to an order and ends the run. Fails with `NotRouted` when that cannot be done now; it stays parked. */
export const routeDeliveryUpdate = defineUpdate<RoutedDelivery, [{ orderId: string }]>('routeDelivery');

/** Ends the run without doing anything with the delivery. `reason`: 1 to 200 characters. */
export const discardDeliveryUpdate = defineUpdate<ParkedDelivery, [{ reason: string }]>('discardDelivery');

/** What is kept of the delivery; never its content, not even sealed. */
export const parkedDeliveryQuery = defineQuery<ParkedDelivery>('parkedDelivery');
