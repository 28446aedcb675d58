import { defineSearchAttributeKey } from '@temporalio/common';
import { upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import type { AttentionCode } from '../domain/attention.js';
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

type KeywordKey = typeof rideAccountKey;

/** Writes those attributes that change: each write is an event. Null unsets. */
export function writeAttributes(wanted: { key: KeywordKey; value: string | null }[]): void {
  const { typedSearchAttributes: shown } = workflowInfo();
  const changed = wanted.filter(({ key, value }) => (shown.get(key) ?? null) !== value);
  if (changed.length > 0) upsertSearchAttributes(changed);
}

/** Lists the run among those that need a person, or no longer. */
export const writeAttention = (attention: { code: AttentionCode } | null): void =>
  writeAttributes([{ key: rideAttentionKey, value: attention?.code ?? null }]);

/**
 * Lists the run under its account, unless its start does. A run that continues another one writes it all the same:
 * leases and watches of 0.2.0 did, and their histories have to replay.
 */
export function writeAccount(account: string): void {
  const { typedSearchAttributes: shown, continuedFromExecutionRunId } = workflowInfo();
  if (continuedFromExecutionRunId === undefined && shown.get(rideAccountKey) === account) return;
  upsertSearchAttributes([{ key: rideAccountKey, value: account }]);
}
