import { BusinessAccountSchema } from '../call.js';
import { parserOf } from '../input-fields.js';
import { PublishedInstantSchema } from '../instant.js';
import * as s from '../schema.js';
import { toWebAddress, webAddressRule } from '../web-address.js';

/** The events that can be subscribed to, one subscription each (given). */
export const eventTypes = ['status_changed', 'business_report'] as const;

/** One of the names in `eventTypes`. */
export type EventType = (typeof eventTypes)[number];

/** Is this the name of an event that can be subscribed to? */
export const isEventType = (text: string): text is EventType => eventTypes.some((known) => known === text);

/** Must a delivery of this event type name an order? */
export const mustNameOrder: Record<EventType, boolean> = { status_changed: true, business_report: false };

/** How long an old address is accepted unless the caller says otherwise: longer than any sender repeats a delivery. */
export const defaultGraceMs = 86_400_000;
/** Read without a trailing slash. */
const PublicUrlSchema = s.webAddress(500, toWebAddress, webAddressRule);
const GraceSchema = s.optional(s.wholeNumber(0, 30 * 86_400_000));

/** What `subscription` is started with. */
export const SubscriptionInputSchema = s.inputOf({
  account: BusinessAccountSchema,
  eventType: s.wordOf(eventTypes),
  publicUrl: s.described(PublicUrlSchema, 'Public base of the ingress: https, or http at a loopback address.'),
  resubscribe: s.optional(s.flag, 'Subscribe again, at most once a day, while deliveries are silent?'),
  graceMs: s.described(GraceSchema, 'How long a replaced address is accepted; a day by default.'),
  silence: s.optional(
    s.inputOf({
      // How often it is looked for; the window that is looked at is 24 times as long. Default an hour.
      everyMs: s.optional(s.wholeNumber(100, 86_400_000)),
      // Orders that must have ended without a delivery before it is said. Default 5.
      minOrders: s.optional(s.wholeNumber(1, 100_000)),
    }),
    'When deliveries count as silent.',
  ),
});
/** What `subscription` is started with, as it is read. */
export type SubscriptionInput = s.Read<typeof SubscriptionInputSchema>;

/** When deliveries count as silent; see `withCounts` in `state.ts`. */
export type SilenceWatch = Required<NonNullable<SubscriptionInput['silence']>>;

/** The watch in force: that of the input, and defaults for what the input leaves out. */
export const silenceWatchOf = ({ silence }: SubscriptionInput): SilenceWatch => ({
  ...{ everyMs: 3_600_000, minOrders: 5 },
  ...silence,
});

/** Reads the input of `subscription`, which any language may send. Throws `InvalidInput` that names the field. */
export const parseSubscriptionInput = parserOf(SubscriptionInputSchema);

/** Argument of the update `rotateSubscription`. */
export const RotateInputSchema = s.inputOf({ graceMs: GraceSchema });

const readRotation = parserOf(RotateInputSchema);
/** Reads the argument of `rotateSubscription`, which may be left out. Throws `InvalidInput`. */
export const parseRotateInput = (value: unknown): { graceMs?: number } => readRotation(value ?? {});

/** Argument of the update `moveSubscription`. */
export const MoveInputSchema = s.inputOf({ publicUrl: PublicUrlSchema, graceMs: GraceSchema });

/** Reads the argument of `moveSubscription`. Throws `InvalidInput`. */
export const parseMoveInput = parserOf(MoveInputSchema);

/** Argument of the update `endSubscription`. */
export const EndInputSchema = s.inputOf({
  reason: s.checked(s.text(), (reason) => reason.trim() !== '', 'must be a text of 1 to 200 characters'),
});

/** Reads the argument of `endSubscription`. Throws `InvalidInput`. */
export const parseEndInput = parserOf(EndInputSchema);

/** The name of an address's generation: the part of the path that changes with each new address. */
export const generationPattern = /^[0-9a-z]{1,16}$/;

/** Its name is a number in base 36, greater than those of all earlier addresses of the subscription. */
export const numberOfGeneration = (generation: string): number => Number.parseInt(generation, 36);

const VerifiedProofSchema = s.answerOf({
  // The header that held the proof of the latest delivery whose header was another one, in lower case.
  header: s.answered(),
  // ISO instant of the first verified delivery, as the ingress saw it.
  at: PublishedInstantSchema,
  // How often an ingress reports its counts at most.
  reportEveryMs: s.wholeNumber(1),
});
/** What is known of the signature of an address's deliveries. From the first verified one on, each needs one. */
export type VerifiedProof = s.Read<typeof VerifiedProofSchema>;

const AcceptedGenerationSchema = s.answerOf({
  generation: s.matching(generationPattern, 'must be a generation'),
  // The ingress refuses deliveries from this instant on; null while no other address has replaced this one.
  until: s.nullable(PublishedInstantSchema),
  // Each `secret_id` that the service may use, sealed under the webhook keys with the subscription's id as context.
  secrets: s.listOf(s.answered()),
  // The answer with the secret may have been lost, so the ingress checks only the path.
  isSecretLost: s.flag,
  // Absent: no delivery has been verified yet; releases up to 0.2.0 never publish it.
  verified: s.absentOr(VerifiedProofSchema),
});
/** One address that accepts deliveries, as the ingress needs it. */
export type AcceptedGeneration = s.Read<typeof AcceptedGenerationSchema>;

/** What the `subscription` workflow publishes in its memo: addresses, newest first; none once the subscription has ended. */
export const SubscriptionMemoSchema = s.answerOf({ accepted: s.listOf(AcceptedGenerationSchema) });
/** The memo of the `subscription` workflow. No secret is in clear. */
export type SubscriptionMemo = s.Read<typeof SubscriptionMemoSchema>;

/** The field of the memo that holds a `SubscriptionMemo`. */
export const subscriptionMemoField = 'subscription';

/** The generation of an address if it accepts deliveries now. An `unknown` one may be newer than the memo. */
export function findGeneration(
  memo: SubscriptionMemo,
  generation: string,
  now: number,
): AcceptedGeneration | 'ended' | 'unknown' {
  const found = memo.accepted.find((one) => one.generation === generation);
  if (!found) return 'unknown';
  return found.until !== null && Date.parse(found.until) <= now ? 'ended' : found;
}
