import { z } from 'zod';
import { type Answer, errorAnswer, jsonAnswer } from '../answers.js';
import { type Endpoint, withToken } from '../endpoint.js';
import { businessCheck, invalidBody, parsedBody } from '../request-checks.js';
import type { SandboxState } from '../sandbox-state.js';

/** Price estimates and report pages: path, scope and bodies as a public page of the service prints them. */
export const quoteEndpoints = (state: SandboxState): Endpoint[] => [
  withToken(state.tokens, {
    ...{ operation: 'priceEstimate', method: 'POST', url: '/v1/price-estimate' },
    refuse: businessCheck(state, 'order'),
    answer: ({ body }) => answerEstimate(state, parsedBody(body)),
  }),
  withToken(state.tokens, {
    ...{ operation: 'orderReport', method: 'GET', url: '/v1/reports' },
    refuse: businessCheck(state, 'finance'),
    answer: ({ query }) => answerReport(query),
  }),
];

const ReportQuery = z.looseObject({
  limit: z.coerce.number().int().min(1).max(50),
  offset: z.coerce.number().int().min(0),
  since: z.iso.datetime({ offset: true }),
  to: z.iso.datetime({ offset: true }),
});

/** A period without orders. */
function answerReport(query: Record<string, unknown>): Answer {
  const { error } = ReportQuery.safeParse(query);
  return error
    ? invalidBody(error)
    : jsonAnswer(200, { result_size: 0, total_orders_in_period: 0, totals: [], orders: [] });
}

const Place = z.looseObject({ lat: z.number().min(-90).max(90), lng: z.number().min(-180).max(180) });
const EstimateBody = z.looseObject({
  origin: Place,
  stops: z.array(Place).optional(),
  destination: Place,
  product_id: z.guid(),
  scheduled_at: z.iso.datetime({ offset: true }).optional(),
});

const polarLatitude = 75; // no product beyond it, as in the answers about products

function answerEstimate({ quotes }: SandboxState, body: unknown): Answer {
  const { data, error } = EstimateBody.safeParse(body);
  if (error) return invalidBody(error);
  if (Math.abs(data.origin.lat) > polarLatitude) {
    return errorAnswer(422, 'AREA_NOT_SERVED', 'nothing can be ordered there', { details: { origin: 'not served' } });
  }
  const { origin, stops = [], destination } = data;
  const quoteId = quotes.add({
    places: [origin, ...stops, destination],
    productId: data.product_id,
    scheduledAt: data.scheduled_at,
  });
  const price = { value: '48.00', included_tax: true };
  return jsonAnswer(200, { quote_id: quoteId, currency: '£', currency_code: 'GBP', price });
}
