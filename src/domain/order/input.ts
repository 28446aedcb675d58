import { InvalidInput } from '../errors.js';
import { parserOf, toInputObject } from '../input-fields.js';
import { InstantSchema } from '../instant.js';
import { AccountNameSchema, OrderIdSchema } from '../keys.js';
import { NotifyListSchema } from '../notify/receivers.js';
import * as s from '../schema.js';

const dayMs = 86_400_000;
/** Counted from the later of start and pick-up: longer than any ride lasts. */
export const defaultFollowForMs = 7 * dayMs;
/** Longer than any order is made ahead. */
export const maxFollowForMs = 400 * dayMs;

const requestFields = {
  reference: s.optional(s.text(), "The caller's own id of the order; comes back in trail and changes."),
  scheduledAt: s.optional(InstantSchema, 'Pick-up time; what the service says later wins.'),
  notify: s.optional(NotifyListSchema),
  followForMs: s.optional(
    s.wholeNumber(1_000, maxFollowForMs, `must be a whole number of milliseconds from 1000 to ${maxFollowForMs}`),
    'How long to follow; 7 days by default.',
  ),
};

/** Argument of the signal `followRequested`: it sets fields that are not set yet, adds receivers, and overwrites nothing. */
export const FollowRequestSchema = s.inputOf(requestFields);
/** What a caller may ask of a run that already follows the order. */
export type FollowRequest = s.Read<typeof FollowRequestSchema>;

/** The input of `followOrder`. */
export const FollowOrderInputSchema = s.inputOf({
  account: AccountNameSchema,
  orderId: OrderIdSchema,
  ...requestFields,
});
/** The parsed input of `followOrder`. `followForMs` counts from the later of start and `scheduledAt`. */
export type FollowOrderInput = s.Read<typeof FollowOrderInputSchema>;

/** Reads the input of `followOrder`. Throws `InvalidInput` that names the field. */
export const parseFollowOrderInput = parserOf(FollowOrderInputSchema);

/** Reads the argument of the signal `followRequested`. Throws `InvalidInput`. */
export const parseFollowRequest = parserOf(FollowRequestSchema);

/** Any program may send the signal, and a run has two seconds for a task. */
const mostParts = 1_000;

/**
 * Reads the argument of `followRequested` for a run, which cannot answer a signal. It keeps the readable parts and gives one problem line
 * for each of the others. Never throws.
 */
export function readFollowRequest(value: unknown): { request: FollowRequest; problems: string[] } {
  const problems: string[] = [];
  const take = <T>(parse: () => T): T | undefined => {
    try {
      return parse();
    } catch (error) {
      problems.push(error instanceof InvalidInput ? error.message : 'input: cannot be read');
      return undefined;
    }
  };
  // Each field and each receiver separately. The limit of receivers is checked later.
  const parts = Object.entries(take(() => toInputObject(value)) ?? {}).flatMap(([name, field]): object[] =>
    name === 'notify' && Array.isArray(field) ? field.map((one: unknown) => ({ notify: [one] })) : [{ [name]: field }],
  );
  const read = parts.slice(0, mostParts).flatMap((part) => take(() => parseFollowRequest(part)) ?? []);
  const notify = read.flatMap((part) => part.notify ?? []);
  return { request: Object.assign({}, ...read, notify.length > 0 && { notify }), problems };
}

/** Sets the fields of the input that are not set yet, except receivers, which the run keeps elsewhere. */
export const fillInput = (input: FollowOrderInput, { notify: _, ...asked }: FollowRequest): FollowOrderInput => ({
  ...asked,
  ...input,
});

/** Argument of the updates `stopFollowing` and `discardDelivery`. */
export const ReasonInputSchema = s.inputOf({ reason: s.text() });

/** Reads the argument of `stopFollowing` or `discardDelivery`. Throws `InvalidInput`. */
export const parseReasonInput = parserOf(ReasonInputSchema);
