import { z } from 'zod';
import { type Answer, jsonAnswer } from '../answers.js';
import { type Endpoint, withToken } from '../endpoint.js';
import { readCheck } from '../order/endpoints.js';
import { type LiveOrder, scheduledTimeOf, statusAt } from '../order/orders.js';
import { numberOrText } from '../order/wire-id.js';
import { invalidBody } from '../request-checks.js';
import type { SandboxState } from '../sandbox-state.js';
import { findProduct, sandboxProducts } from './catalogue.js';
import { moneyBody, receiptBody } from './receipt-bodies.js';

/** All orders of a period, with their money (published 2.3). */
export const reportEndpoints = (state: SandboxState): Endpoint[] => [
  withToken(state.tokens, {
    ...{ operation: 'orderReport', method: 'GET', url: '/v1/reports' },
    refuse: readCheck(state, 'finance'),
    answer: ({ query }) => answerReport(state, query),
  }),
];

const longestPage = 50;
const Instant = z.iso.datetime({ offset: true });
/** A greater limit is cut, so that a client sees what it gets. */
const PageQuery = z.looseObject({
  limit: z.coerce.number().int().min(1).default(longestPage),
  offset: z.coerce.number().int().min(0).default(0),
  since: Instant.optional(),
  to: Instant.optional(),
});

function answerReport(state: SandboxState, query: Record<string, unknown>): Answer {
  const { data, error } = PageQuery.safeParse(query);
  if (error) return invalidBody(error);
  const { limit, offset, since, to } = data;
  const from = since === undefined ? Number.NEGATIVE_INFINITY : Date.parse(since);
  const until = to === undefined ? Number.POSITIVE_INFINITY : Date.parse(to);
  const all = [...state.orders.all()].filter((live) => {
    const scheduledAt = Date.parse(scheduledTimeOf(live));
    return live.order.interface === 'business' && scheduledAt >= from && scheduledAt <= until;
  });
  const rows = all.map((live) => reportedOrderBody(state, live, Date.now()));
  const orders = rows.slice(offset, offset + Math.min(limit, longestPage));
  return jsonAnswer(200, {
    result_size: orders.length,
    total_orders_in_period: all.length,
    totals: totals(rows),
    orders,
  });
}

/** One order of a report. An order without a receipt has amounts of null. */
function reportedOrderBody(state: SandboxState, live: LiveOrder, now: number) {
  const { orderId } = live.order;
  const product = findProduct(state.rides.find(orderId)?.order.product_id ?? '') ?? sandboxProducts.standard;
  return {
    id: numberOrText(orderId),
    status: statusAt(live, now).toLowerCase(),
    business_id: state.businessId,
    country: 'GB',
    category: product.category,
    product_name: product.name,
    tariff_area: '',
    timezone: 'Europe/London',
    ...(receiptBody(live, { ...state.rideSettings, speed: state.speed, now }) ?? moneyBody(null)),
  };
}

function totals(rows: readonly ReturnType<typeof reportedOrderBody>[]): object[] {
  const sum = (name: 'total_exc_tax' | 'total_inc_tax') =>
    rows.reduce((so, { payment_summary: summary }) => so + (summary[name] ?? 0), 0);
  const [sum_total_exc_tax, sum_total_inc_tax] = [sum('total_exc_tax'), sum('total_inc_tax')];
  return [{ sum_total_exc_tax, sum_total_inc_tax, orders_count: rows.length, currency_code: 'GBP' }];
}
