import { BusinessAccountSchema } from '../call.js';
import { parserOf } from '../input-fields.js';
import * as s from '../schema.js';
import { toWebAddress, webAddressRule } from '../web-address.js';
import { eventTypes } from './subscription.js';

/** When deliveries count as silent; see `judgeSilence`. */
export interface SilenceWatch {
  /** How often it is looked for; the window that is looked at is 24 times as long. Default an hour. */
  everyMs: number;
  /** Orders that must have ended without a delivery before it is said. Default 5. */
  minOrders: number;
}

/** How long an old address is accepted unless the caller says otherwise: longer than any sender repeats a delivery. */
export const defaultGraceMs = 86_400_000;
/** The watch in force where the input says nothing. */
export const defaultSilenceWatch: SilenceWatch = { everyMs: 3_600_000, minOrders: 5 };
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
      everyMs: s.optional(s.wholeNumber(100, 86_400_000)),
      minOrders: s.optional(s.wholeNumber(1, 100_000)),
    }),
    'When deliveries count as silent.',
  ),
});
/** What `subscription` is started with, as it is read. */
export type SubscriptionInput = s.Read<typeof SubscriptionInputSchema>;

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
