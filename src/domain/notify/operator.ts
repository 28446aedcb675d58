import { parserOf } from '../input-fields.js';
import * as s from '../schema.js';

const needFields = {
  workflowType: s.text(),
  workflowId: s.text(1_000),
  account: s.text(),
  code: s.described(s.text(), 'Of the attention; for a parked delivery the reason.'),
};
const NeedSchema = s.inputOf(needFields);
/** A run that needs a person. It names no person and holds no text, so it may go anywhere. */
export type Need = s.Read<typeof NeedSchema>;

/** Null for what is none: any program may set our search attributes. */
export const readNeed = (value: unknown): Need | null => s.readOr(NeedSchema, value, null);

const OperatorEventsInputSchema = s.inputOf({
  // What the operator was told of and still needs a person.
  known: s.optional(s.listOf(NeedSchema)),
  told: s.optional(s.wholeNumber(0)),
  // From one look to the next; tests set it.
  everyMs: s.optional(s.positive),
});
/** The input of `operatorEvents`: a run that continues as new hands what it knows to the next one. */
export type OperatorEventsInput = s.Read<typeof OperatorEventsInputSchema>;

/** Reads the input of `operatorEvents`. Throws `InvalidInput` that names the field. */
export const parseOperatorEventsInput = parserOf(OperatorEventsInputSchema);

/** What a run needed before, and needs now; null: no person. */
export interface NeedChange {
  before: Need | null;
  now: Need | null;
}

/** Body of the request that the URL of the operator gets. */
export const OperatorEventSchema = s.answerOf({
  type: s.wordOf(['attention.raised', 'subscription.silent', 'delivery.parked', 'attention.cleared']),
  timestamp: s.described(s.answered(), 'When the worker learnt of it.'),
  data: s.answerOf(needFields),
});

/** What the operator is told of a change. */
export function toOperatorEvent({
  before,
  now,
}: NeedChange): Pick<s.Read<typeof OperatorEventSchema>, 'type'> & { data: object } {
  if (now === null) return { type: 'attention.cleared', data: { ...before } };
  if (isParked(now)) return { type: 'delivery.parked', data: now };
  return { type: now.code === 'subscriptionSilent' ? 'subscription.silent' : 'attention.raised', data: now };
}

/** All of them must fit into one payload. If more runs need a person, the operator is told of them as others are done. Parked deliveries have a
 *  share of their own: a stranger who knows an address may have any number of them parked. */
export const mostKnown = { parked: 200, others: 800 };

const isParked = ({ workflowType }: Need): boolean => workflowType === 'parkedDelivery';

/** What the operator knows after a change. */
export const knownAfter = (known: readonly Need[], { before, now }: NeedChange): Need[] => [
  ...known.filter(({ workflowId }) => workflowId !== before?.workflowId),
  ...(now ? [now] : []),
];

/** Ids of the runs that differ in the list from what the operator knows. The list may be late, so each has to be asked. An order or a token
 *  shows what the watch of its account shows for all of them. */
export function suspectsIn(listed: readonly Need[], known: readonly Need[]): string[] {
  const isOfAccount = ({ workflowType, account, code }: Need): boolean =>
    ['followOrder', 'accessToken'].includes(workflowType) &&
    listed.some((one) => one.workflowType === 'accountWatch' && one.account === account && one.code === code);
  const codes = new Map(known.map(({ workflowId, code }) => [workflowId, code]));
  const news = listed.filter((one) => codes.get(one.workflowId) !== one.code && !isOfAccount(one));
  const ids = new Set(listed.map(({ workflowId }) => workflowId));
  const gone = known.filter(({ workflowId }) => !ids.has(workflowId));
  const newsOf = (isMeant: (one: Need) => boolean, most: number): Need[] =>
    news.filter(isMeant).slice(0, Math.max(0, most - known.filter(isMeant).length));
  const others = newsOf((one) => !isParked(one), mostKnown.others);
  return [...new Set([...gone, ...others, ...newsOf(isParked, mostKnown.parked)].map(({ workflowId }) => workflowId))];
}
