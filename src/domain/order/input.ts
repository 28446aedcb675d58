import { InvalidInput } from '../errors.js';
import { parserOf, readInput, toInputObject } from '../input-fields.js';
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

/** Argument of the signal `followRequested`: it fills what the run does not know yet, adds receivers, and overwrites nothing. */
export const FollowRequestSchema = s.inputOf(requestFields);
/** What a caller may tell a run that follows the order already. */
export type FollowRequest = s.Read<typeof FollowRequestSchema>;

/** What `followOrder` is started with. */
export const FollowOrderInputSchema = s.inputOf({
  account: AccountNameSchema,
  orderId: OrderIdSchema,
  ...requestFields,
});
/** What `followOrder` is started with, as it is read. `followForMs` counts from the later of start and `scheduledAt`. */
export type FollowOrderInput = s.Read<typeof FollowOrderInputSchema>;

/** Reads the input of `followOrder`, which any language may send. Throws `InvalidInput` that names the field. */
export const parseFollowOrderInput = parserOf(FollowOrderInputSchema);

/** Reads the argument of the signal `followRequested`. Throws `InvalidInput`. */
export const parseFollowRequest = parserOf(FollowRequestSchema);

/** What could be read of a `followRequested`, and one line for each part that could not. */
export interface ReadFollowRequest {
  request: FollowRequest;
  problems: string[];
}

/** Its names alone, to find one that is unknown. */
const withoutValues = (fields: object): object => Object.fromEntries(Object.keys(fields).map((name) => [name, null]));

/** The same for a run, which cannot answer a signal: a part that cannot be read does not lose the others. Never throws. */
export function readFollowRequest(value: unknown): ReadFollowRequest {
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
  take(() => parseFollowRequest(withoutValues(fields)));
  const { notify, ...others } = fields;
  const single = (['reference', 'scheduledAt', 'followForMs'] as const).map((name) =>
    take(() => parseFollowRequest({ [name]: others[name] })),
  );
  const request: FollowRequest = Object.assign({}, ...single);
  // Each by itself, and as many as there are: how many a run tells is another rule.
  if (Array.isArray(notify)) {
    request.notify = notify.flatMap((entry: unknown, index) => take(() => toReceiver(entry, `notify[${index}]`)) ?? []);
  } else {
    take(() => parseFollowRequest({ notify }));
  }
  return { request, problems };
}

/** The input with what it does not say yet. The first word about each thing stands; receivers are kept elsewhere. */
export function fillInput(input: FollowOrderInput, { notify: _, ...asked }: FollowRequest): FollowOrderInput {
  return { ...asked, ...input };
}

const RunIdSchema = s.matching(
  /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  'must be the run id of an earlier run of this order',
);

/** Reads the run id of an earlier run of the order. Throws `InvalidInput`. */
export const toEarlierRunId = (value: unknown): string => readInput(RunIdSchema, value, 'continues');

/** Reads the argument of `stopFollowing`. Throws `InvalidInput`. */
export const parseStopInput = parserOf(s.inputOf({ reason: s.text() }));
