import { defineSearchAttributeKey } from '@temporalio/common';
import { searchAttributeNames } from '../domain/search-attribute-names.js';

/** What runs can be listed by. The worker sees to it that these are registered. */
export const rideAccountKey = defineSearchAttributeKey(searchAttributeNames.account, 'KEYWORD');
export const rideStatusKey = defineSearchAttributeKey(searchAttributeNames.status, 'KEYWORD');
export const rideSeenByKey = defineSearchAttributeKey(searchAttributeNames.seenBy, 'KEYWORD');
export const rideAttentionKey = defineSearchAttributeKey(searchAttributeNames.attention, 'KEYWORD');
