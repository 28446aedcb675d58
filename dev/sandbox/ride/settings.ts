import { z } from 'zod';
import { ScriptSchema } from '../order/orders.js';

const Ms = z.int().min(0).max(86_400_000);

/** How a sandbox creates, cancels and bills orders. The sandbox divides durations by its speed. */
export const RideSettingsSchema = z.strictObject({
  /** Does a repeated `X-Request-ID` make a second order? Shows whether a client relies on the service to recognise it. */
  forgetsRequestIds: z.boolean(),
  /** Is the order id in the answer to a create a number? */
  idsAreNumbers: z.boolean(),
  /** The statuses of orders created from now on; null: the usual ones, on-demand or scheduled. */
  script: ScriptSchema.nullable(),
  /** How long after its answer a cancelled order reads `Cancelled`. */
  cancelTakesMs: Ms,
  /** Ids of the reference fields that an order must name. */
  mandatoryReferences: z.array(z.int()),
  mandatoryDestination: z.boolean(),
  /** How long a quote lives, at any speed. */
  quoteLivesMs: Ms,
  /** Does every order need a quote? */
  quoteRequired: z.boolean(),
  /** When there is a receipt, after the end of the order. */
  receiptAfterMs: Ms,
  /** When the service calculates it again, after the end of the order; null: never. */
  receiptChangesAfterMs: Ms.nullable(),
});
export type RideSettings = z.output<typeof RideSettingsSchema>;

/** A change of some settings. */
export const RideChangeSchema = RideSettingsSchema.partial();
export type RideChange = z.input<typeof RideChangeSchema>;

export const defaultRideSettings: RideSettings = {
  forgetsRequestIds: false,
  idsAreNumbers: false,
  script: null,
  cancelTakesMs: 0,
  mandatoryReferences: [],
  mandatoryDestination: false,
  quoteLivesMs: 120_000,
  quoteRequired: false,
  receiptAfterMs: 0,
  receiptChangesAfterMs: 1_800_000,
};

/** Settings after a change of some. */
export const changed = <Settings extends object>(
  settings: Settings,
  change: { [Name in keyof Settings]?: Settings[Name] | undefined },
): Settings => ({
  ...settings,
  ...Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined)),
});
