import { z } from 'zod';

const baseUrlRule = 'must be an https URL (http only at a loopback address) without credentials, query and fragment';

/** The one rule for addresses we call or publish. The result has no trailing slash. */
export const BaseUrl = z.string(baseUrlRule).transform((value, context) => {
  const url = toBaseUrl(value);
  if (url === undefined) context.addIssue(baseUrlRule);
  return url ?? z.NEVER;
});

function toBaseUrl(value: string): string | undefined {
  if (!URL.canParse(value) || /[?#\s]/.test(value)) return undefined;
  const url = new URL(value);
  if (url.username !== '' || url.password !== '') return undefined;
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url.hostname))) return undefined;
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '');
}

// `URL` has brought every spelling of an IPv4 address to four decimal parts, and put IPv6 in brackets.
const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);

const secretRule =
  'must be {"env": "NAME"} or {"file": "PATH"}; a secret itself does not belong in this file, move it there and rotate it';

/** Where a secret of the accounts file is kept. */
export const SecretSource = z.union(
  [z.strictObject({ env: z.string().min(1) }), z.strictObject({ file: z.string().min(1) })],
  secretRule,
);

const PollMs = z.int().min(100).max(86_400_000);

const common = {
  baseUrl: BaseUrl,
  clientId: z.string().min(1),
  clientSecret: SecretSource,
  requestsPerSecond: z.number().positive().max(1000).optional(),
  poll: z
    .strictObject({ activeMs: PollMs.optional(), reservedMs: PollMs.optional(), pushedMs: PollMs.optional() })
    .optional(),
  untracked: z.enum(['follow', 'ignore']).optional(),
};

/** One account of the file, in the words of design section 4. */
export const AccountEntry = z.discriminatedUnion(
  'interface',
  [
    z.strictObject({ interface: z.literal('partner'), ...common }),
    z.strictObject({
      interface: z.literal('business'),
      ...common,
      authUrl: BaseUrl.optional(),
      // Any version of UUID, also the made-up ones of test environments (given: a UUID identifies the company).
      businessId: z.guid('must be the UUID of the company'),
    }),
  ],
  { error: (issue) => (issue.code === 'invalid_union' ? 'must be "partner" or "business"' : undefined) },
);

/** The accounts file as a whole. Entries are read one by one, so that every problem of every account is found at once. */
export const AccountsFile = z.strictObject({ accounts: z.record(z.string(), z.unknown()) });

/** An account as read from the file. */
export type AccountEntry = z.infer<typeof AccountEntry>;
/** See the shape of the same name. */
export type SecretSource = z.infer<typeof SecretSource>;
