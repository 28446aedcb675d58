import { InvalidInput } from '../errors.js';
import { parserOf, toInputObject } from '../input-fields.js';
import { InstantSchema } from '../instant.js';
import { AccountNameSchema, OrderIdSchema } from '../keys.js';
import { NotifyListSchema, toReceiver } from '../notify/receivers.js';
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
  const fields = take(() => toInputObject(value)) ?? {};
  // The names alone, to find an unknown one.
  take(() => parseFollowRequest(Object.fromEntries(Object.keys(fields).map((name) => [name, null]))));
  const { notify, ...others } = fields;
  const single = (['reference', 'scheduledAt', 'followForMs'] as const).map((name) =>
    take(() => parseFollowRequest({ [name]: others[name] })),
  );
  const request: FollowRequest = Object.assign({}, ...single);
  // Each receiver separately. The limit of receivers is checked later.
  if (Array.isArray(notify)) {
    request.notify = notify.flatMap((entry: unknown, index) => take(() => toReceiver(entry, `notify[${index}]`)) ?? []);
  } else {
    take(() => parseFollowRequest({ notify }));
  }
  return { request, problems };
}

/** Sets the fields of the input that are not set yet, except receivers, which the run keeps elsewhere. */
export const fillInput = (input: FollowOrderInput, { notify: _, ...asked }: FollowRequest): FollowOrderInput => ({
  ...asked,
  ...input,
});

/** Argument of the update `stopFollowing`. */
export const StopInputSchema = s.inputOf({ reason: s.text() });

/** Reads the argument of `stopFollowing`. Throws `InvalidInput`. */
export const parseStopInput = parserOf(StopInputSchema);
