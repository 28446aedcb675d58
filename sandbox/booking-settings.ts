import { z } from 'zod';
import { ScriptSchema } from './orders.js';

const Ms = z.int().min(0).max(86_400_000);

/** How a sandbox creates, cancels and bills orders. Durations are divided by its speed. */
export const BookingSettingsSchema = z.strictObject({
  /** Whether a repeated `X-Request-ID` makes a second order: a client that may not rely on it is found out so. */
  forgetsRequestIds: z.boolean(),
  /** Whether the answer to a create has its order id as a number. */
  idsAreNumbers: z.boolean(),
  /** The life of orders created from now on; null: a usual one, on-demand or scheduled. */
  script: ScriptSchema.nullable(),
  /** How long after its answer a cancelled order reads `Cancelled`. */
  cancelTakesMs: Ms,
  /** Ids of the reference fields that an order must name. */
  mandatoryReferences: z.array(z.int()),
  mandatoryDestination: z.boolean(),
  /** When there is a receipt, after the end of the order. */
  receiptAfterMs: Ms,
  /** When it is calculated again, after the end of the order; null: never. */
  receiptChangesAfterMs: Ms.nullable(),
});
export type BookingSettings = z.output<typeof BookingSettingsSchema>;

/** Some of the settings, to lay over those in force. */
export const BookingChangeSchema = BookingSettingsSchema.partial();
export type BookingChange = z.input<typeof BookingChangeSchema>;

export const defaultBookingSettings: BookingSettings = {
  forgetsRequestIds: false,
  idsAreNumbers: false,
  script: null,
  cancelTakesMs: 0,
  mandatoryReferences: [],
  mandatoryDestination: false,
  receiptAfterMs: 0,
  receiptChangesAfterMs: 1_800_000,
};

/** The settings with a change laid over them. Throws `ZodError`. */
export function changedBookingSettings(settings: BookingSettings, change: BookingChange): BookingSettings {
  const given = Object.entries(BookingChangeSchema.parse(change)).filter(([, value]) => value !== undefined);
  return { ...settings, ...Object.fromEntries(given) };
}
