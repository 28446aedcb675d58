import { isSameStatus } from '../../../src/domain/order/status.js';
import type { LiveOrder } from '../order/orders.js';
import type { RideSettings } from './settings.js';

/** One calculation of what an order costs: net amounts by part, in whole units of the currency. */
type Costs = Partial<Record<(typeof parts)[number], number>>;

/** All parts of a receipt (published 2.3). A part without an amount is there, with nulls. */
const parts = [
  'additional_fee',
  'cancellation',
  'commissions',
  'commitment',
  'driving',
  'extras',
  'stop_points',
  'tech_fee',
  'tax',
  'tips',
  'tolls',
  'total_without_commissions',
] as const;

type ReceiptSettings = Pick<RideSettings, 'receiptAfterMs' | 'receiptChangesAfterMs'>;

/** One calculation after the other. With more changes than calculations they repeat, without the last one twice. */
const completedCosts: Costs[] = [
  { driving: 40, cancellation: 0 },
  { driving: 40, cancellation: 0, tolls: 5 },
  { driving: 40, cancellation: 0, tolls: 5, extras: 10 },
  { driving: 35, cancellation: 0, tolls: 5, extras: 10 },
];
const cancelledCosts: Costs[] = [{ cancellation: 5 }, { cancellation: 15 }, { cancellation: 10 }, { cancellation: 0 }];

const costsAfter = (status: string): Costs[] | undefined =>
  isSameStatus(status, 'Completed') ? completedCosts : isSameStatus(status, 'Cancelled') ? cancelledCosts : undefined;

/** When the receipt of an order with this status is calculated, in milliseconds after it took the status. Only some statuses have one. */
export const receiptTimes = (status: string, { receiptAfterMs, receiptChangesAfterMs }: ReceiptSettings): number[] =>
  costsAfter(status) === undefined ? [] : [receiptAfterMs, ...receiptChangesAfterMs];

/** The receipt of an order by its last calculation; undefined if it has none yet. */
export function receiptBody(live: LiveOrder, settings: ReceiptSettings & { speed: number; now: number }) {
  const { speed, now } = settings;
  const reached = live.steps.findLast((step) => step.at <= now);
  const calculations = reached && costsAfter(reached.status);
  if (!calculations) return undefined;
  const [first = 0, ...changes] = receiptTimes(reached.status, settings).map((afterMs) => reached.at + afterMs / speed);
  if (now < first) return undefined;
  return moneyBody(calculations[changes.filter((at) => at <= now).length % calculations.length] ?? {});
}

/** `payment_summary` and `calculation` as a receipt and a report have them. Null: there is no calculation yet. */
export function moneyBody(costs: Costs | null) {
  const net = costs && Object.values(costs).reduce((sum, amount) => sum + amount, 0);
  const total = part(net);
  const { amount_exc_tax: total_exc_tax, amount_inc_tax: total_inc_tax, tax: total_tax } = total;
  const summaryOf = (name: (typeof parts)[number]) => {
    if (name === 'total_without_commissions') return { summary: { ...total, amount: total_inc_tax } };
    const summary = part(costs?.[name] ?? null);
    return name === 'cancellation' && costs !== null
      ? { details: { cancelled_before_arrival_fee: costs.cancellation ?? 0 }, summary }
      : { summary };
  };
  return {
    payment_summary: { currency_code: 'GBP', total_exc_tax, total_inc_tax, total_tax },
    calculation: Object.fromEntries(parts.map((name) => [name, summaryOf(name)])),
  };
}

const taxShare = 0.2;

function part(net: number | null) {
  const tax = net === null ? null : net * taxShare;
  return { amount: net, amount_exc_tax: net, amount_inc_tax: net === null ? null : net + (tax ?? 0), tax };
}
