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
/** When the run found the status. */
export const rideSinceKey = defineSearchAttributeKey(searchAttributeNames.since, 'DATETIME');
/** The pick-up; unset when none is known. */
export const ridePickupKey = defineSearchAttributeKey(searchAttributeNames.pickup, 'DATETIME');

type AttributeToWrite =
  | { key: typeof rideAccountKey; value: string | null }
  | { key: typeof ridePickupKey; value: Date | null };

/** Writes those attributes that change, in one event. Null unsets. */
export function writeAttributes(wanted: readonly AttributeToWrite[]): void {
  const changed = wanted.filter(isChanged);
  if (changed.length > 0) upsertSearchAttributes(changed);
}

function isChanged({ key, value }: AttributeToWrite): boolean {
  const shown = workflowInfo().typedSearchAttributes.get<'KEYWORD' | 'DATETIME'>(key) ?? null;
  return shown?.valueOf() !== value?.valueOf();
}

/** The server stores no instant outside of these years, and an upsert with one would fail its workflow task without end. */
const storedFrom = Date.UTC(1970, 0);
const storedUntil = Date.UTC(9999, 11);

/** An ISO instant as the value of an attribute; null for none, and for one that the server cannot store. */
export function toAttribute(instant: string | null): Date | null {
  const ms = instant === null ? Number.NaN : Date.parse(instant);
  return ms >= storedFrom && ms <= storedUntil ? new Date(ms) : null;
}

/** Lists the run among those that need a person, or no longer. */
export const writeAttention = (attention: { code: AttentionCode } | null): void =>
  writeAttributes([{ key: rideAttentionKey, value: attention?.code ?? null }]);

/** Lists the run under its account, also where its start does: runs of 0.2.0 did, and go on under this version. */
export function writeAccount(account: string): void {
  upsertSearchAttributes([{ key: rideAccountKey, value: account }]);
}
