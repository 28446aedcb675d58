import { shares } from '../../../src/domain/shares.js';
import type { DeliveryAttempt } from '../../sandbox/delivery/ledger.js';
import type { LedgerEntry } from '../../sandbox/ledger.js';
import type { Invention, Stranger } from './strangers.js';
import type { Verdict } from './verdict.js';

/** The runs of invented orders have ids that begin so. */
export const inventedPrefix = 'order/business/invented-';

/** Each ingress process counts anew. */
const newOrdersAtOnce = shares.account.newOrders;
/** A read that dies with its worker is noticed after 30 s, and a failed one is repeated after up to a minute. Both may happen again. */
const longestUnreadMs = 240_000;

interface About {
  ledger: readonly LedgerEntry[];
  /** Orders that were followed all the time. */
  anchorIds: readonly string[];
  /** When runs of invented orders began, before these became real. */
  startedAt: readonly number[];
  /** How many ingress processes there were. */
  ingresses: number;
  /** Reads with a senseless answer, which may give an invented order a status. */
  strangeReads: number;
}

/** Did a stranger who knows the address of the subscription cost others nothing? */
export function judgeStranger(
  { sent, floods }: Pick<Stranger, 'sent' | 'floods'>,
  { ledger, anchorIds, startedAt, ingresses, strangeReads }: About,
): Verdict {
  const limit = newOrdersAtOnce * ingresses + strangeReads;
  const count = (answer: number | null) => sent.filter((one) => one.answer === answer).length;
  const silent = sent.filter(({ answer, saysWhen }) => (answer === 429 || answer === 503) && !saysWhen);
  // 401: the address was rotated meanwhile.
  const strange = sent.filter(({ answer }) => answer !== null && ![202, 401, 429, 503].includes(answer));
  const unread = anchorIds.map((id) => longestUnread(timesOf(ledger, id), floods));
  const most = Math.max(0, ...unread);
  return {
    problems: [
      ...(startedAt.length > limit ? [`invented orders started ${startedAt.length} runs, more than ${limit}`] : []),
      ...(silent.length > 0 ? [`${silent.length} refusals of a stranger do not say when to send again`] : []),
      ...(strange.length > 0 ? [`a stranger was answered with ${strange[0]?.answer}, ${strange.length} times`] : []),
      ...(most > longestUnreadMs ? [`during a flood a followed order was not read for ${most} ms`] : []),
    ],
    figures: {
      inventions: sent.length,
      inventionsAcknowledged: count(202),
      inventionsTooMany: count(429),
      inventionsNotTaken: count(503),
      inventionsUnknown: count(401),
      inventionsUnanswered: count(null),
      inventedRuns: startedAt.length,
      inventedRunsLimit: limit,
      anchorUnreadMostMs: most,
    },
  };
}

const timesOf = (ledger: readonly LedgerEntry[], id: string): number[] =>
  ledger.flatMap(({ operation, orderId, at }) =>
    operation === 'orderDetails' && orderId === id ? [Date.parse(at)] : [],
  );

/** The longest time without a read that overlaps a flood. Counts from the first flood, where no read was before it. */
function longestUnread(times: readonly number[], floods: Stranger['floods']): number {
  const reads = [...times, ...floods.slice(0, 1).map(({ beganAt }) => beganAt)].sort((a, b) => a - b);
  const gaps = reads.slice(1).map((to, i) => ({ from: reads[i] ?? to, to }));
  const overlapping = gaps.filter(({ from, to }) =>
    floods.some(({ beganAt, endedAt }) => from < endedAt && to > beganAt),
  );
  return Math.max(0, ...overlapping.map(({ from, to }) => to - from));
}

/** The acknowledged deliveries of a stranger, in the form of those of the service. */
export const acknowledgedOf = ({ sent }: Pick<Stranger, 'sent'>): DeliveryAttempt[] =>
  sent.flatMap(({ orderId, at, ms, answer, acknowledgedAs }: Invention, delivery) =>
    acknowledgedAs === undefined
      ? []
      : [
          {
            ...{ delivery, subscriberId: 'stranger', eventType: 'status_changed', orderId, attempt: 1 },
            ...{ cause: 'command', at: new Date(at).toISOString(), answer, acknowledgedAs, ms },
          },
        ],
  );
