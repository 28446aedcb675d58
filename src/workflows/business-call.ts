import { setCurrentDetails, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import type { Attention } from '../domain/attention.js';
import type { BusinessCallInput, BusinessCallResult } from '../domain/business-call.js';
import { parseBusinessCallInput } from '../domain/business-call-input.js';
import { InvalidInput } from '../domain/errors.js';
import { businessCallId } from '../domain/workflow-ids.js';
import { refuseBadInput } from './bad-input.js';
import { rideAccountKey, rideAttentionKey } from './search-attribute-keys.js';
import { performCall } from './service-call.js';

/**
 * One operation of the business interface, carried to its end. Its id is the caller's identity of the call, so asking twice
 * is asking once. Fails with one of `callFailureTypes`.
 */
export async function businessCall(rawInput: BusinessCallInput): Promise<BusinessCallResult> {
  const { key: _, ...call } = refuseBadInput(() => checked(rawInput));
  upsertSearchAttributes([{ key: rideAccountKey, value: call.account }]);
  // The id itself: the same for every run and attempt, free of secrets, and the same words in both systems.
  return await performCall({ ...call, requestId: workflowInfo().workflowId }, showWaiting);
}

/** The id is what keeps a call from being made twice. */
function checked(rawInput: BusinessCallInput): BusinessCallInput {
  const input = parseBusinessCallInput(rawInput);
  const expected = businessCallId(input);
  if (workflowInfo().workflowId !== expected) throw new InvalidInput(`workflow id: must be "${expected}"`);
  return input;
}

/** In the Temporal UI and in the list of what needs a person. */
function showWaiting(attention: Attention | null): void {
  setCurrentDetails(attention === null ? '' : `**Attention: ${attention.code}**: ${attention.message}`);
  upsertSearchAttributes([{ key: rideAttentionKey, value: attention?.code ?? null }]);
}
