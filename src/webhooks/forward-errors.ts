import { FaretrailError } from '../domain/errors.js';

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
