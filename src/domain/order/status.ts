import { shownText } from '../json.js';

/** Every status we know (assumed). Others are normal input and stay the word they came as. */
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

/** A word as it may be shown and indexed, on one line. What is shown already stays as it is. */
const shownStatus = (word: string): string => shownText(word.replace(/\s/g, ' '));

/** The key by which two spellings are the same status: as shown, in lower case, without blanks, `_` and `-`, British "cancelled". */
export function statusKey(word: string): string {
  const key = shownStatus(word).toLowerCase().replace(/[ _-]/g, '');
  return key === 'canceled' ? 'cancelled' : key;
}

const knownByKey = new Map(rideStatuses.map((status) => [statusKey(status), status]));

/** A known status in its one spelling; undefined for any other word. */
export const toKnownStatus = (rawStatus: string): RideStatus | undefined => knownByKey.get(statusKey(rawStatus));

/** A known status in its one spelling, or the word as it came, with U+FFFD for what cannot be shown or indexed. */
export const toRideStatus = (rawStatus: string): string => toKnownStatus(rawStatus) ?? shownStatus(rawStatus);

/** Do both words name the same status? */
export const isSameStatus = (a: string | null, b: string | null): boolean =>
  a === b || (a !== null && b !== null && statusKey(a) === statusKey(b));
