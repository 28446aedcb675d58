/** Wire names of our search attributes, all of type Keyword. */
export const searchAttributeNames = {
  account: 'RideAccount',
  status: 'RideStatus',
  /** What made us look when the last change was found: `read` or `delivery`. */
  seenBy: 'RideSeenBy',
  /** The attention code; unset when there is none. */
  attention: 'RideAttention',
} as const;

/** A text in a visibility query; within quotes only the quote and the backslash mean something. */
export const quote = (text: string): string => `'${text.replace(/[\\']/g, '\\$&')}'`;
