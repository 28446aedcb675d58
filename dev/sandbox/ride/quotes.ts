import { randomUUID } from 'node:crypto';
import { type Answer, errorAnswer } from '../answers.js';
import type { NewOrder } from './body.js';

/** What a quote was made for. It dies with another of these. */
interface QuotedTrip {
  places: { lat: number; lng: number }[];
  productId: string;
  scheduledAt: string | undefined;
}

export type Quotes = ReturnType<typeof createQuotes>;

/** The quotes of a sandbox, and the age that each had when an order was placed with it. */
export function createQuotes() {
  const made = new Map<string, { trip: string; at: number }>();
  const uses: { quoteId: string; ageMs: number }[] = [];
  return {
    add(trip: QuotedTrip): string {
      const quoteId = randomUUID();
      made.set(quoteId, { trip: fingerprint(trip), at: performance.now() });
      return quoteId;
    },
    /** Why an order cannot be placed; undefined where its quote is alive and belongs to it, or it has none. */
    refuse(order: NewOrder, { quoteLivesMs, quoteRequired }: QuoteTerms): Answer | undefined {
      const { quote_id: quoteId } = order;
      if (quoteId === undefined)
        return quoteRequired ? refusal('quote_required', 'A price estimate is due') : undefined;
      const quote = made.get(quoteId);
      const ageMs = quote ? performance.now() - quote.at : Number.POSITIVE_INFINITY;
      uses.push({ quoteId, ageMs });
      if (!quote) return refusal('quote_not_found', 'No such quote');
      if (ageMs > quoteLivesMs) return refusal('quote_expired', 'The quote has expired');
      return quote.trip === fingerprint(toTrip(order)) ? undefined : refusal('quote_mismatch', 'Not for this trip');
    },
    /** Kills all quotes at once. */
    expire(): void {
      for (const quote of made.values()) quote.at = Number.NEGATIVE_INFINITY;
    },
    /** The age of the quote in each create that named one, in milliseconds. */
    uses: (): { quoteId: string; ageMs: number }[] => [...uses],
  };
}

interface QuoteTerms {
  quoteLivesMs: number;
  quoteRequired: boolean;
}

const refusal = (code: string, title: string): Answer =>
  errorAnswer('business', 422, code, title, { fields: { quote_id: title } });

const toTrip = ({ stops, product_id: productId, scheduled_at: scheduledAt }: NewOrder): QuotedTrip => ({
  places: stops.map(({ location: { lat, lng } }) => ({ lat: Number(lat), lng: Number(lng) })),
  productId,
  scheduledAt,
});

const fingerprint = ({ places, productId, scheduledAt }: QuotedTrip): string =>
  JSON.stringify([
    places.map(({ lat, lng }) => [lat, lng]),
    productId.toLowerCase(),
    scheduledAt === undefined ? null : Date.parse(scheduledAt),
  ]);
