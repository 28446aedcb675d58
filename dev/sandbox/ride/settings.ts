import { z } from 'zod';
import { ScriptSchema } from '../order/orders.js';

const minute = 60_000;
const day = 86_400_000;
const Ms = z
  .int()
  .min(0)
  .max(7 * day);

/** How a sandbox creates, cancels and bills orders. The sandbox divides durations by its speed. */
export const RideSettingsSchema = z.strictObject({
  /** Does a repeated `X-Request-ID` make a second order? It should not (published 2.3), which nobody has seen. */
  forgetsRequestIds: z.boolean(),
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
  /** When the service calculates it again, after the end of the order. A `business_report` tells each of them, and the first receipt. */
  receiptChangesAfterMs: z.array(Ms).max(10),
});
export type RideSettings = z.output<typeof RideSettingsSchema>;

/** A change of some settings. */
export const RideChangeSchema = RideSettingsSchema.partial();
export type RideChange = z.input<typeof RideChangeSchema>;

export const defaultRideSettings: RideSettings = {
  forgetsRequestIds: false,
  script: null,
  cancelTakesMs: 0,
  mandatoryReferences: [],
  mandatoryDestination: false,
  quoteLivesMs: 120_000,
  quoteRequired: false,
  receiptAfterMs: 0,
  receiptChangesAfterMs: [30 * minute, 2 * day, 6 * day], // final within a week (published 2.3)
};

/** Settings after a change of some. */
export const changed = <Settings extends object>(
  settings: Settings,
  change: { [Name in keyof Settings]?: Settings[Name] | undefined },
): Settings => ({
  ...settings,
  ...Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined)),
});
