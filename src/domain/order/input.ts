import { InvalidInput } from '../errors.js';
import { toInputFields, toInputObject, toInputText } from '../input-fields.js';
import { toInstant } from '../instant.js';
import { type AccountName, type OrderId, toAccountName, toOrderId } from '../keys.js';
import { type Notify, toNotify, toReceiver } from '../notify/receivers.js';

/** What `followOrder` is started with. */
export interface FollowOrderInput {
  account: AccountName;
  orderId: OrderId;
  /** The caller's own id of this order. */
  reference?: string;
  /** ISO instant of the pick-up. */
  scheduledAt?: string;
  notify?: Notify[];
  /** From the later of start and `scheduledAt`; 7 days by default. Then the outcome is `expired`. */
  followForMs?: number;
}

/** What a caller may tell a run that follows the order already: it fills what is unset, adds receivers, and overwrites nothing. */
export type FollowRequest = Pick<FollowOrderInput, 'reference' | 'scheduledAt' | 'followForMs' | 'notify'>;

const dayMs = 86_400_000;
/** Counted from the later of start and pick-up: longer than any ride lasts. */
export const defaultFollowForMs = 7 * dayMs;
/** Longer than any order is made ahead. */
export const maxFollowForMs = 400 * dayMs;

function toFollowForMs(value: unknown): number {
  if (!Number.isInteger(value) || (value as number) < 1000 || (value as number) > maxFollowForMs) {
    throw new InvalidInput(`followForMs: must be a whole number of milliseconds from 1000 to ${maxFollowForMs}`);
  }
  return value as number;
}

/**
 * Reads the input of `followOrder`, which any language may send. Throws `InvalidInput` that names the field; unknown
 * fields are refused, so that a misspelt option is never silently without effect.
 */
export function parseFollowOrderInput(value: unknown): FollowOrderInput {
  const fields = toInputFields(value, ['account', 'orderId', ...requestFields]);
  return { account: toAccountName(fields.account), orderId: toOrderId(fields.orderId), ...readRequestFields(fields) };
}

/** Reads the argument of the signal `followRequested`. Throws `InvalidInput`. */
export const parseFollowRequest = (value: unknown): FollowRequest =>
  readRequestFields(toInputFields(value, requestFields));

const requestFields = ['reference', 'scheduledAt', 'notify', 'followForMs'] as const;

function readRequestFields(fields: Record<string, unknown>): FollowRequest {
  // JSON made by other languages often says null for a field that is not set.
  const given = (key: (typeof requestFields)[number]): boolean => fields[key] !== undefined && fields[key] !== null;
  return {
    ...(given('reference') ? { reference: toInputText(fields.reference, 'reference') } : {}),
    ...(given('scheduledAt') ? { scheduledAt: toInstant(fields.scheduledAt, 'scheduledAt') } : {}),
    ...(given('notify') ? { notify: toNotify(fields.notify) } : {}),
    ...(given('followForMs') ? { followForMs: toFollowForMs(fields.followForMs) } : {}),
  };
}

/** What could be read of a `followRequested`, and one line for each part that could not. */
export interface ReadFollowRequest {
  request: FollowRequest;
  problems: string[];
}

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
  take(() => toInputFields(fields, requestFields));
  const single = (['reference', 'scheduledAt', 'followForMs'] as const).map((key) =>
    take(() => readRequestFields({ [key]: fields[key] })),
  );
  const request: FollowRequest = Object.assign({}, ...single);
  const { notify } = fields;
  // Each by itself, and as many as there are: how many a run tells is another rule.
  if (Array.isArray(notify)) {
    request.notify = notify.flatMap((entry: unknown, index) => take(() => toReceiver(entry, `notify[${index}]`)) ?? []);
  } else {
    take(() => readRequestFields({ notify }));
  }
  return { request, problems };
}

/** The input with what it does not say yet. The first word about each thing stands; receivers are kept elsewhere. */
export function fillInput(input: FollowOrderInput, { notify: _, ...asked }: FollowRequest): FollowOrderInput {
  return { ...asked, ...input };
}

/** Reads the run id of an earlier run of the order. Throws `InvalidInput`. */
export function toEarlierRunId(value: unknown): string {
  const isRunId = typeof value === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value);
  if (!isRunId) throw new InvalidInput('continues: must be the run id of an earlier run of this order');
  return value;
}

/** Reads the argument of `stopFollowing`. Throws `InvalidInput`. */
export function parseStopInput(value: unknown): { reason: string } {
  const fields = toInputFields(value, ['reason']);
  return { reason: toInputText(fields.reason, 'reason') };
}
