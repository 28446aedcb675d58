import { endStatuses, type RideStatus, statusKey, toKnownStatus, toRideStatus } from '../domain/order/status.js';
import type { ContractProfile } from './contract-profile.js';

// The one place that turns the service's words for statuses into ours. All other code sees ours, and unknown words as they come.

type Words = ContractProfile['statuses']['words'];

// A map for each profile, since each delivery looks a word up.
const mapsOf = new WeakMap<Words, ReadonlyMap<string, RideStatus>>();

function mapOf(words: Words): ReadonlyMap<string, RideStatus> {
  const known = mapsOf.get(words);
  if (known) return known;
  const map = new Map(Object.entries(words).map(([word, status]) => [statusKey(word), status]));
  mapsOf.set(words, map);
  return map;
}

/** The status that a word of the service names: ours by the profile's `statuses.words`, else a known status, else the word as it came. */
export const statusOf = (word: string, { words }: { words: Words }): string =>
  mapOf(words).get(statusKey(word)) ?? toRideStatus(word);

/** The status that a delivery claims: ours where the profile maps the word, else the word as it came. */
export const claimedStatus = (word: string, { words }: { words: Words }): string =>
  mapOf(words).get(statusKey(word)) ?? word;

/** Is this the word of a status that we know? */
export const isKnownWord = (word: string, statuses: { words: Words }): boolean =>
  toKnownStatus(statusOf(word, statuses)) !== undefined;

/** Words that other services of the trade use (assumed), by ours. None that means different things to different services, such as "en route". */
const synonyms: Readonly<Partial<Record<RideStatus, string>>> = {
  Pending: 'requested created submitted placed',
  Reserved: 'scheduled booked prebooked',
  Routing: 'searching dispatching searching_driver finding_driver looking_for_driver',
  Confirmed: 'accepted assigned driver_accepted driver_assigned driver_confirmed driver_on_the_way',
  Waiting: 'arrived driver_arrived at_pickup',
  Driving: 'in_progress ongoing on_trip on_board passenger_on_board picked_up riding',
  Completed: 'finished dropped_off',
  Cancelled:
    'aborted cancelled_by_client cancelled_by_customer cancelled_by_driver cancelled_by_passenger cancelled_by_rider cancelled_by_user',
  Rejected: 'declined refused unfulfilled no_driver_found no_drivers_available',
  CareReq: 'care_required customer_care',
};
/** In lower case, letters and digits alone, with the British "cancelled". */
const bareWord = (word: string): string =>
  word
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '')
    .replace(/^canceled/, 'cancelled');
const bySynonym = new Map(
  Object.entries(synonyms).flatMap(([status, words]) =>
    words.split(' ').map((word) => [bareWord(word), status as RideStatus]),
  ),
);

const meaningOf = (word: string): RideStatus | undefined =>
  toKnownStatus(bareWord(word)) ?? bySynonym.get(bareWord(word));

/** What a service may write before each of its words: `ride_completed`, `STATUS_DRIVING`. */
const thingBefore = /^(order|ride|trip|booking|job|status|state)[ _.:-]/i;

/** The status of ours that an unknown word probably means: one in another spelling, or a word of the trade. */
export const likelyStatus = (word: string): RideStatus | undefined =>
  meaningOf(word) ?? meaningOf(word.replace(thingBefore, ''));

const ends: ReadonlySet<string> = new Set(endStatuses);

/** What is wrong with the profile's words, by the field. */
export function wordProblems({ words, terminal }: ContractProfile['statuses']): string[] {
  const keys = new Map<string, string>();
  const isEnd = (status: string): boolean => terminal.some((end) => statusKey(end) === statusKey(status));
  return Object.entries(words).flatMap(([word, status]) => {
    const field = `statuses.words.${word}`;
    const other = keys.get(statusKey(word));
    keys.set(statusKey(word), word);
    if (other !== undefined && words[other] !== status) return [`${field}: is the word ${other} in another spelling`];
    return ends.has(status) && !isEnd(status) ? [`${field}: ${status} must also be in statuses.terminal`] : [];
  });
}
