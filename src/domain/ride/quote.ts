import { InvalidInput } from '../errors.js';

// A quote is the id of a price estimate. The service wants one that is younger than two minutes in a create (published).

/** How long a quote lives at the service (published). */
export const quoteLivesMs = 120_000;

/** What a price estimate says. `price` is a decimal text as it came; null: not in the answer, or in an unknown form. */
export interface Estimate {
  quoteId: string;
  price: string | null;
  currency: string | null;
}

/** A price estimate with its age. */
export interface Quote extends Estimate {
  /** By the monotonic clock of the process, before the estimate was requested: the quote is no older than that. */
  askedAt: number;
  /** A random id of that process, since no other one can compare the instant. */
  process: string;
}

/** The price of the last quote that a create of a ride has carried. */
export type QuotedPrice = Pick<Estimate, 'price' | 'currency'>;

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;

const remedy = 'or request the ride without a quote';

/** The body of the price estimate for this order. Throws `InvalidInput` that names the missing field. */
export function toEstimateBody(order: Record<string, unknown>): Record<string, unknown> {
  if (fieldOf(order, 'quote_id') !== undefined)
    throw new InvalidInput('order.quote_id: leave it out, since quote asks for a new one; or leave quote out');
  const productId = fieldOf(order, 'product_id') ?? fieldOf(order, 'product_ID');
  if (productId === undefined) throw new InvalidInput(`order.product_id: a price estimate needs it; add it, ${remedy}`);
  const stops = fieldOf(order, 'stops');
  const places = (type: string): unknown[] =>
    (Array.isArray(stops) ? stops : []).flatMap((stop: unknown, i) =>
      fieldOf(stop, 'type') === type ? [toPlace(fieldOf(stop, 'location'), `order.stops.${i}.location`)] : [],
    );
  const only = (type: string): unknown => {
    const [found, ...more] = places(type);
    if (found !== undefined && more.length === 0) return found;
    throw new InvalidInput(`order.stops: a price estimate needs one stop of type "${type}"; correct it, ${remedy}`);
  };
  const scheduledAt = fieldOf(order, 'scheduled_at') ?? undefined;
  return {
    origin: only('origin'),
    stops: places('on_going'),
    destination: only('destination'),
    product_id: productId,
    ...(scheduledAt === undefined ? {} : { scheduled_at: scheduledAt }),
  };
}

function toPlace(location: unknown, at: string): Record<string, unknown> {
  const [lat, lng] = [fieldOf(location, 'lat'), fieldOf(location, 'lng')];
  const missing = lat === undefined ? 'lat' : 'lng';
  if (lat !== undefined && lng !== undefined) return { lat, lng };
  throw new InvalidInput(`${at}.${missing}: a price estimate needs it; add it, ${remedy}`);
}

/** Refusal of a quote that came with the request of the ride or the call. */
export const ownQuoteTooOld = (): InvalidInput =>
  new InvalidInput(
    'body.quote_id: it came with this request over two minutes ago, and a quote lives two minutes. Request the ride without it and with quote: true (`faretrail ride request --quote`), which asks for a quote before each create.',
  );
