import type { DeliveryNotice, DeliveryResult } from '../domain/delivery.js';
import type { HandOverInput } from '../domain/parked.js';
import type { CompanyReportKey, FollowOrderKey } from '../domain/workflow-ids.js';

/** Where deliveries go, as the ingress sends them too. A call that rejects may be repeated without harm. */
export interface DeliveryRoutes {
  /** Never starts an order again that has ended at the service (I5). */
  toOrder(key: FollowOrderKey, deliveries: DeliveryNotice[]): Promise<DeliveryResult>;
  toReport(key: CompanyReportKey, deliveries: DeliveryNotice[]): Promise<DeliveryResult>;
}

/** What the activities below work with. */
export interface DeliveryActivityPorts {
  routes: DeliveryRoutes;
}

/** The activities that move deliveries between runs, as workflows see them. */
export type DeliveryActivities = ReturnType<typeof createDeliveryActivities>;

/** They call Temporal and no service, so they run beside the token requests. */
export const createDeliveryActivities = ({ routes }: DeliveryActivityPorts) => ({
  /** Gives a parked delivery to an order, or to the report of one. */
  async handOverDelivery(input: HandOverInput): Promise<DeliveryResult> {
    const { account, orderId, eventType, deliveryId, receivedAt } = input;
    const deliveries: DeliveryNotice[] = [{ deliveryId, eventType, receivedAt }];
    switch (eventType) {
      case 'status_changed':
        return await routes.toOrder({ account, orderId }, deliveries);
      case 'business_report':
        return await routes.toReport({ account, about: orderId }, deliveries);
    }
  },
});
