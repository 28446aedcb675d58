/** Wire names of our search attributes. */
export const searchAttributeNames = {
  account: 'RideAccount',
  status: 'RideStatus',
  /** What made us look when the last change was found: `read` or `delivery`. */
  seenBy: 'RideSeenBy',
  /** The attention code; unset when there is none. */
  attention: 'RideAttention',
  /** When the run found the status. */
  since: 'RideSince',
  /** The pick-up; unset when none is known. */
  pickup: 'RidePickup',
} as const;

type AttributeName = (typeof searchAttributeNames)[keyof typeof searchAttributeNames];

/** As what the server stores them. */
export const searchAttributeTypes: Readonly<Record<AttributeName, 'Keyword' | 'Datetime'>> = {
  RideAccount: 'Keyword',
  RideStatus: 'Keyword',
  RideSeenBy: 'Keyword',
  RideAttention: 'Keyword',
  RideSince: 'Datetime',
  RidePickup: 'Datetime',
};

/** A text in a visibility query; within quotes only the quote and the backslash mean something. */
export const quote = (text: string): string => `'${text.replace(/[\\']/g, '\\$&')}'`;
