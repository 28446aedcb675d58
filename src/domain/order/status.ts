import { shownText } from '../json.js';

/** The known statuses (published), each in one spelling: the service writes them in title case in deliveries and in lower case in reports.
 *  `ActiveOrder` stands for Confirmed, Waiting and Driving where the supplier cannot be tracked. Any other word is normal input, which we keep. */
export const rideStatuses = [
  'Pending',
  'Reserved',
  'Unreserved',
  'Routing',
  'Confirmed',
  'Waiting',
  'Driving',
  'Completed',
  'Cancelled',
  'Rejected',
  'CareReq',
  'ActiveOrder',
] as const;

export type RideStatus = (typeof rideStatuses)[number];
/** The known statuses that end an order (published). */
export const endStatuses = ['Completed', 'Cancelled', 'Rejected'] as const satisfies readonly RideStatus[];
/** A known status that does not end an order. */
export type OpenStatus = Exclude<RideStatus, (typeof endStatuses)[number]>;

const isOpen = (status: RideStatus): status is OpenStatus => endStatuses.every((end) => end !== status);
export const openStatuses = rideStatuses.filter(isOpen);

/** A word that is safe to show and to index, on one line. */
const shownStatus = (word: string): string => shownText(word.replace(/\s/g, ' '));

/** Equal for two spellings of one status: in lower case, without blanks, `_` and `-`, with the British "cancelled". */
export function statusKey(word: string): string {
  const key = shownStatus(word).toLowerCase().replace(/[ _-]/g, '');
  return key === 'canceled' ? 'cancelled' : key;
}

const knownByKey = new Map(rideStatuses.map((status) => [statusKey(status), status]));

/** A known status in its one spelling; undefined for any other word. */
export const toKnownStatus = (rawStatus: string): RideStatus | undefined => knownByKey.get(statusKey(rawStatus));

/** The same for a status that does not end an order. */
export const toOpenStatus = (rawStatus: string): OpenStatus | undefined => {
  const known = toKnownStatus(rawStatus);
  return openStatuses.find((status) => status === known);
};

/** A known status in its one spelling, or the given word, with U+FFFD for characters that cannot be shown or indexed. */
export const toRideStatus = (rawStatus: string): string => toKnownStatus(rawStatus) ?? shownStatus(rawStatus);

/** Do both words name the same status? */
export const isSameStatus = (a: string | null, b: string | null): boolean =>
  a === b || (a !== null && b !== null && statusKey(a) === statusKey(b));
