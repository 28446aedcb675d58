import { z } from 'zod';
import { type RideInterface, rideInterfaces } from '../domain/account.js';
import { noWatch } from '../domain/order/concern.js';
import { type OpenStatus, openStatuses } from '../domain/order/status.js';
import { toWebAddress, webAddressRule } from '../domain/web-address.js';

/** An address that we call or publish. The result has no trailing slash. */
export const BaseUrl = z.string(webAddressRule).transform((value, context) => {
  const url = toWebAddress(value);
  if (url === undefined) context.addIssue(webAddressRule);
  return url ?? z.NEVER;
});

const secretRule =
  'must be {"env": "NAME"} or {"file": "PATH"}; a secret itself does not belong in this file, move it there and rotate it';

/** Where a secret of an account is kept. */
export const SecretSource = z.union(
  [z.strictObject({ env: z.string().min(1) }), z.strictObject({ file: z.string().min(1) })],
  secretRule,
);

const PollMs = z.int().min(100).max(86_400_000).exactOptional();

const WatchMs = z.int().min(1_000).max(2_592_000_000).nullable().exactOptional();
const StuckAfterMs = z.strictObject(
  Object.fromEntries(openStatuses.map((status) => [status, WatchMs])) as Record<OpenStatus, typeof WatchMs>,
);
const Watch = z.strictObject({
  stuckAfterMs: StuckAfterMs.exactOptional(),
  latePickupAfterMs: WatchMs,
  customerCare: z.boolean().exactOptional(),
});

const common = {
  baseUrl: BaseUrl,
  clientId: z
    .string()
    .min(1)
    .regex(
      /^(?!(["']).*\1$)[^\p{Cc}\p{Cf}]*$/u,
      'must not hold characters that cannot be seen, or have quotes around it',
    ),
  clientSecret: SecretSource,
  requestsPerSecond: z.number().positive().max(1000).optional(),
  poll: z.strictObject({ activeMs: PollMs, reservedMs: PollMs, pushedMs: PollMs }).optional(),
  watch: z.preprocess((given) => (given === false ? noWatch : given), Watch).optional(),
  untracked: z.enum(['follow', 'ignore']).optional(),
};

const entries = {
  partner: z.strictObject({ interface: z.literal('partner'), ...common }),
  business: z.strictObject({
    interface: z.literal('business'),
    ...common,
    authUrl: BaseUrl.exactOptional(),
    // Any UUID version, since test environments use made-up ones (given: a UUID identifies the company).
    businessId: z.guid('must be the UUID of the company'),
  }),
} satisfies Record<RideInterface, z.ZodType>;

/** One account of the file. */
export const AccountEntry = z.discriminatedUnion('interface', [entries.partner, entries.business], {
  error: (issue) => (issue.code === 'invalid_union' ? `must be "${rideInterfaces.join('" or "')}"` : undefined),
});

/** The whole accounts file. The settings parse each entry separately, so that they report the problems of all accounts at once. */
export const AccountsFile = z.strictObject({ accounts: z.record(z.string(), z.unknown()) });

/** An account as read from the file. */
export type AccountEntry = z.infer<typeof AccountEntry>;
/** Where a secret of an account is kept. */
export type SecretSource = z.infer<typeof SecretSource>;
