import type { DeliveryNotice, DeliveryResult } from '../domain/delivery.js';
import { FaretrailError } from '../domain/errors.js';
import type { ParkedDeliveryInput } from '../domain/parked.js';
import type { SubscriptionMemo } from '../domain/subscription/subscription.js';
import type { CompanyReportKey, FollowOrderKey, SubscriptionKey } from '../domain/workflow-ids.js';

/** The ingress's one door to Temporal. Every call ends within seconds; one that rejects may be repeated without harm. */
export interface DeliveryPort {
  /** One signal for all of them. An order that was never followed is started or ignored, as its account says; one whose
   *  following broke off is started again; one that has ended at the service never (I5). */
  toOrder(key: FollowOrderKey, deliveries: DeliveryNotice[]): Promise<DeliveryResult>;
  /** One signal for all of them; starts the report. */
  toReport(key: CompanyReportKey, deliveries: DeliveryNotice[]): Promise<DeliveryResult>;
  /** Parks a delivery for a person to place. Parking it again changes nothing. */
  park(delivery: ParkedDeliveryInput): Promise<void>;
  /** What the subscription accepts now; null when there has never been one. */
  readSubscription(key: SubscriptionKey): Promise<SubscriptionMemo | null>;
  /** Resolves when Temporal answers. */
  ping(): Promise<void>;
}

/**
 * Temporal as a whole does not take deliveries: not reachable, too slow, out of quota, or it refuses us. Everything waits,
 * so there is no sense in trying each order. Not for a run that takes no more signals: only its own deliveries wait.
 */
export class TemporalUnavailable extends FaretrailError<'TemporalUnavailable'> {
  override readonly name = 'TemporalUnavailable';

  constructor(options?: ErrorOptions) {
    super('TemporalUnavailable', 'Temporal does not take deliveries now', options);
  }
}
