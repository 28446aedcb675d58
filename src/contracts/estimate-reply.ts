import type { Estimate } from '../domain/ride/quote.js';
import type { ContractProfile } from './contract-profile.js';
import { valueAt } from './json.js';
import { findOrderId, usableText } from './order-reply.js';
import { UnusableReply } from './unusable-reply.js';

const maxQuoteIdLength = 200;
const decimal = /^-?\d{1,12}(\.\d{1,6})?$/;

/** The first value with this form, as text. */
function textAt(body: unknown, pointers: readonly string[], form: RegExp): string | null {
  const values = pointers.map((pointer) => valueAt(body, pointer));
  const texts = values.flatMap((one) => (typeof one === 'string' || typeof one === 'number' ? [String(one)] : []));
  return texts.find((text) => form.test(text)) ?? null;
}

/** Reads the answer to a price estimate. Throws `UnusableReply` NO_QUOTE. */
export function parseEstimateReply(body: unknown, pointers: ContractProfile['pointers']['priceEstimate']): Estimate {
  const quoteId = usableText(findOrderId(body, pointers.quoteId), maxQuoteIdLength);
  if (quoteId === undefined) throw new UnusableReply('NO_QUOTE');
  return {
    quoteId,
    price: textAt(body, pointers.price, decimal),
    currency: textAt(body, pointers.currency, /^[A-Z]{3}$/),
  };
}
