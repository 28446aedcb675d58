import { defineSearchAttributeKey } from '@temporalio/common';
import { searchAttributeNames } from '../domain/search-attribute-names.js';

// What runs can be listed by. The worker sees to it that these are registered.

/** The account's name. */
export const rideAccountKey = defineSearchAttributeKey(searchAttributeNames.account, 'KEYWORD');
/** The status that the last read found. */
export const rideStatusKey = defineSearchAttributeKey(searchAttributeNames.status, 'KEYWORD');
/** What made us look when the last change was found: `read` or `delivery`. */
export const rideSeenByKey = defineSearchAttributeKey(searchAttributeNames.seenBy, 'KEYWORD');
/** The code of the attention; unset when there is none. */
export const rideAttentionKey = defineSearchAttributeKey(searchAttributeNames.attention, 'KEYWORD');
