import { z } from 'zod';

const Probability = z.number().min(0).max(1);
const Ms = z.int().min(0).max(86_400_000);

/** The most further attempts that a subscription may ask for. */
export const RetriesSchema = z.int().min(0).max(20);

/** How a sandbox sends deliveries. It divides durations by its speed, unless they say otherwise. */
export const DeliverySettingsSchema = z.strictObject({
  /** Does the sandbox announce changes? It sends the deliveries of commands in any case. */
  enabled: z.boolean(),
  /** The header with the proof. At the start it is drawn from the seed. */
  signatureHeader: z.string().regex(/^[\w-]{1,100}$/, 'must be the name of a header'),
  /** Further attempts for a subscription that asks for none itself. */
  retries: RetriesSchema,
  /** A 2xx that takes longer does not count. In real time. */
  timeoutMs: Ms.min(1),
  /** How many announced deliveries are in flight at most. */
  concurrency: z.int().min(1).max(4096),
  /** The chance that the sandbox never sends an announced delivery. */
  lost: Probability,
  /** The chance that it sends an announced delivery twice. */
  duplicated: Probability,
  /** The longest random delay of an announced delivery. Later deliveries may overtake it. */
  delayUpToMs: Ms,
});
export type DeliverySettings = z.output<typeof DeliverySettingsSchema>;

export const DeliveryChangeSchema = DeliverySettingsSchema.partial();
/** A change of some settings. */
export type DeliveryChange = z.input<typeof DeliveryChangeSchema>;

export const defaultDeliverySettings: Omit<DeliverySettings, 'signatureHeader'> = {
  enabled: true,
  retries: 0,
  timeoutMs: 5_000,
  concurrency: 64,
  lost: 0,
  duplicated: 0,
  delayUpToMs: 0,
};

const minute = 60_000;
const longestPauseMs = 30 * minute;

/** The pause before a further attempt, the first one being number 1: it grows from a minute to half an hour. */
export const pauseBefore = (retry: number): number => Math.min(minute * 2 ** (retry - 1), longestPauseMs);
