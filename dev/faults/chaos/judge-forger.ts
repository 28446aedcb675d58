import type { Forged } from './forger.js';
import type { ProvenAddresses } from './proven-addresses.js';
import type { Verdict } from './verdict.js';

// An ingress process may accept a delivery without a valid signature only while it has neither verified nor refused a
// delivery at that address. Such a delivery may reach a run only if the subscription's run had not published, before
// the process started, that deliveries to the address are signed. So there are three cases:
//
//   no delivery at the address has been verified    accepted, and passed to the order's run
//   published, and the memo has been read           refused with 401
//   published, but the memo has not been read       accepted, then parked
//
// The last case applies just after the start of a process, and while Temporal is down. If the service's answer with the
// secret was lost, nothing can be verified at that address, and everything is accepted.

/**
 * Time after the first answer of a process within which it must have read the memo. It waits for the memo for up to a
 * second, but on a busy machine its connection to Temporal takes longer.
 */
const readsWithinMs = 10_000;
/** A fault of Temporal counts as over when its process runs again. The server answers only some seconds later. */
const recoversWithinMs = 20_000;

/** Traces of deliveries in Temporal and at the service after the run. */
export interface Traces {
  /** Workflow ids. */
  runs: ReadonlySet<string>;
  /** Ids of the deliveries in all histories. */
  deliveries: ReadonlySet<string>;
  /** Orders that were read at the service. */
  asked: ReadonlySet<string>;
}

interface About {
  traces: Traces;
  addresses: ProvenAddresses;
  /** Start times of the ingress processes. */
  starts: readonly number[];
  /** Periods in which Temporal was disturbed. */
  outages: readonly { beganAt: number; endedAt: number }[];
}

/** The run of a delivery that was accepted unchecked, and failed the check afterwards. */
const parkedRunOf = ({ deliveryId }: Forged): string => `parked/business/${deliveryId}`;
const orderRunOf = ({ orderId }: Forged): string => `order/business/${orderId}`;

/** Run ids of deliveries that may have been parked. One without an answer may have been accepted, too. */
export const mayBeParked = (sent: readonly Forged[]): ReadonlySet<string> =>
  new Set(sent.filter(({ answer }) => answer === 202 || answer === null).map(parkedRunOf));

/** Checks that deliveries without a valid signature were refused from the moment when the ingress could know. */
export function judgeForger(sent: readonly Forged[], { traces, addresses, starts, outages }: About): Verdict {
  const isParked = (one: Forged) => traces.runs.has(parkedRunOf(one));
  const isHeld = (one: Forged) => isParked(one) || traces.deliveries.has(one.deliveryId);
  const hasTrace = (one: Forged) =>
    isHeld(one) || (one.isInvented && (traces.runs.has(orderRunOf(one)) || traces.asked.has(one.orderId)));
  const withAnswer = (answer: number | null) => sent.filter((one) => one.answer === answer);
  const isChecked = ({ generation }: Forged) => !addresses.withoutSecret.has(generation);
  const refused = withAnswer(401);
  const isTaken = (one: Forged) => one.answer === 202 || (one.answer === null && isHeld(one));
  const taken = sent.filter((one) => isChecked(one) && isTaken(one));
  const traced = sent.filter((one) => one.answer !== null && one.answer !== 202 && hasTrace(one));
  const known = taken.filter((one) => isKnown(one, { refused, addresses, starts }));
  const forwarded = taken.filter((one) => traces.deliveries.has(one.deliveryId));
  const published = forwarded.filter(isPublished({ addresses, starts }));
  const late = taken.filter((one) => couldRead(one, sent, { addresses, starts, outages }));
  const strange = sent.filter(({ answer }) => answer !== null && ![202, 401, 429, 503].includes(answer));
  const silent = sent.filter(({ answer, saysWhen }) => (answer === 429 || answer === 503) && !saysWhen);
  const isProven = addresses.current !== undefined && addresses.publishedAt.has(addresses.current);
  return {
    problems: [
      ...(refused.length === 0 ? [`none of ${sent.length} forged deliveries was refused with 401`] : []),
      ...summed(traced, 'were refused but left a trace'),
      ...summed(known, 'were accepted by a process that knew that deliveries there are signed'),
      ...summed(published, 'reached a run, though the subscription had published that deliveries there are signed'),
      ...summed(late, 'were accepted by a process that had had time to read the subscription'),
      ...(isProven ? [] : ['the subscription ends without knowing that deliveries to its address are signed']),
      ...(strange.length > 0 ? [`forged deliveries were answered with ${strange[0]?.answer}: ${strange.length}`] : []),
      ...(silent.length > 0 ? [`${silent.length} refusals of forged deliveries do not say when to send again`] : []),
    ],
    figures: {
      forged: sent.length,
      forgedRefused: refused.length,
      forgedAdmitted: taken.length,
      forgedAdmittedWithoutSecret: sent.filter((one) => !isChecked(one) && isTaken(one)).length,
      forgedForwarded: forwarded.length,
      forgedParked: sent.filter(isParked).length,
      forgedTooMany: withAnswer(429).length,
      forgedNotTaken: withAnswer(503).length,
      forgedUnanswered: withAnswer(null).length,
    },
  };
}

const shown = 3;

/** One line for all deliveries that break the same rule. */
function summed(wrong: readonly Forged[], what: string): string[] {
  if (wrong.length === 0) return [];
  const examples = wrong.slice(0, shown).map(({ deliveryId, flaw, orderId, at, answer }) => {
    const sentAt = new Date(at).toISOString();
    return `${deliveryId} (${flaw}, order ${orderId}, sent at ${sentAt}, answer ${answer ?? 'none'})`;
  });
  return [`${wrong.length} forged deliveries ${what}: ${examples.join(', ')}`];
}

/** Start time of the process that received the delivery. */
const startBefore = ({ at }: Pick<Forged, 'at'>, starts: readonly number[]): number =>
  Math.max(Number.NEGATIVE_INFINITY, ...starts.filter((start) => start <= at));

/** Had the process already verified or refused a delivery at this address? */
function isKnown(
  one: Forged,
  { refused, addresses, starts }: Pick<About, 'addresses' | 'starts'> & { refused: readonly Forged[] },
): boolean {
  const since = startBefore(one, starts);
  const refusals = refused
    .filter(({ at }) => at >= since)
    .map(({ generation, at, ms }) => ({ generation, at: at + ms }));
  return [...addresses.verified, ...refusals].some(
    ({ generation, at }) => generation === one.generation && at >= since && at < one.at,
  );
}

/** Had the run published that deliveries are signed before the process started? */
const isPublished =
  ({ addresses, starts }: Pick<About, 'addresses' | 'starts'>) =>
  (one: Forged): boolean =>
    (addresses.publishedAt.get(one.generation) ?? Number.POSITIVE_INFINITY) < startBefore(one, starts);

/** Had the process had time to read what the run had published? */
function couldRead(
  one: Forged,
  sent: readonly Forged[],
  { addresses, starts, outages }: Omit<About, 'traces'>,
): boolean {
  const publishedAt = addresses.publishedAt.get(one.generation) ?? Number.POSITIVE_INFINITY;
  const since = startBefore(one, starts);
  const answeredFrom = sent.filter(({ at, answer }) => at >= since && answer !== null).map(({ at, ms }) => at + ms);
  const isOut = outages.some(
    ({ beganAt, endedAt }) => beganAt <= one.at + one.ms && one.at <= endedAt + recoversWithinMs,
  );
  return !isOut && one.at > Math.max(publishedAt, Math.min(...answeredFrom)) + readsWithinMs;
}
