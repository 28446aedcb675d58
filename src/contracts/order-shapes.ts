import { z } from 'zod';

// What other services send and get. The rules of inputs are those of src/domain, which the workflow applies whatever the
// language of its caller; here they are said in a form that can be published. A test holds both against each other.

/** Name of an account that the workers hold. */
export const AccountNameShape = z
  .string()
  .regex(/^[a-z0-9-]{1,40}$/)
  .describe('Name of an account that the workers hold.');

// Every language reads these patterns; the rules of src/domain refuse format characters, too.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it refuses
const nameRule = /^[^\x00-\x1f\x7f-\x9f]+$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it refuses
const orderIdRule = /^[^/\x00-\x1f\x7f-\x9f]+$/;

/** The service's id of an order; an integer is read as its text. */
export const OrderIdShape = z
  .union([z.string().min(1).max(128).regex(orderIdRule), z.int()])
  .describe("The service's id of the order, without a slash.");

/** An ISO 8601 instant with an offset. */
export const InstantShape = z.iso.datetime({ offset: true }).describe('ISO 8601 instant with an offset.');

const Text = z.string().min(1).max(200);

/** A text that becomes a name in Temporal. */
export const NameShape = Text.regex(nameRule, 'must not hold control characters');

/** Who is told of each change and of the end: a workflow by signal, or a web address. */
export const NotifyShape = z
  .union([z.strictObject({ workflowId: NameShape, signal: NameShape }), z.strictObject({ url: z.url().max(2_000) })])
  .describe('Who is told of each change and of the end.');

/** Argument of the signal `followRequested`: it fills what the run does not know yet, adds receivers, and overwrites nothing. */
export const FollowRequestShape = z.strictObject({
  reference: Text.nullish().describe("The caller's own id of the order; comes back in trail and changes."),
  scheduledAt: InstantShape.nullish().describe('Pick-up time; what the service says later wins.'),
  notify: z.array(NotifyShape).max(10).nullish(),
  followForMs: z.int().min(1_000).max(34_560_000_000).nullish().describe('How long to follow; 7 days by default.'),
});

/** See the type of the same name in src/domain: what `followOrder` is started with. */
export const FollowOrderInputShape = z.strictObject({
  account: AccountNameShape,
  orderId: OrderIdShape,
  ...FollowRequestShape.shape,
});

/** Why a run needs a person. The code is text, so that a caller outlives a code it does not know. */
export const AttentionShape = z.object({ code: z.string(), message: z.string(), since: z.string() });

const OutcomeShape = z.enum(['completed', 'cancelled', 'rejected', 'stopped', 'expired']);

/** What a `notify` signal carries: each change of the status, and the end. */
export const OrderChangeShape = z.object({
  account: z.string(),
  orderId: z.string(),
  reference: z.string().optional(),
  status: z.string().nullable().describe('Null before the first read.'),
  rawStatus: z.string().nullable().describe('As it came.'),
  since: z.string().describe('When we found the status.'),
  terminal: z.boolean(),
  outcome: OutcomeShape.nullable().describe('Null while the order is followed.'),
});

/** Body of the request that a `notify` URL gets. */
export const OrderEventShape = z.object({
  type: z.enum(['order.changed', 'order.ended']),
  ...OrderChangeShape.shape,
});

/** The durable record of a followed order: the result of `followOrder`, the answer to its query and its updates. */
export const OrderTrailShape = z.object({
  ...OrderChangeShape.shape,
  timeline: z
    .array(
      z.object({ status: z.string(), rawStatus: z.string(), at: z.string(), source: z.enum(['read', 'delivery']) }),
    )
    .describe('Newest last, the last 200.'),
  deliveries: z.object({ received: z.int(), duplicate: z.int() }),
  reads: z.int(),
  pushed: z.boolean().describe('Do deliveries announce the changes of this order?'),
  attention: AttentionShape.nullable(),
  details: z.record(z.string(), z.unknown()).nullable(),
});

/** One webhook delivery as a run is told of it; the signal `deliveryReceived` carries `{ deliveries }`. */
export const DeliveryNoticeShape = z.object({
  deliveryId: z.string().min(1).max(256),
  eventType: z.string().min(1).max(256),
  receivedAt: InstantShape,
  status: z.string().min(1).max(256).optional(),
});

/** Input of the update `stopFollowing`. */
export const StopFollowingShape = z.strictObject({ reason: Text });
