import type { Env } from './env-reader.js';

/** Every variable of ours. Temporal's own are read by its libraries, but for the two of a worker's version. */
export const settingNames: readonly string[] = [
  'FARETRAIL_PARTNER_BASE_URL',
  'FARETRAIL_PARTNER_CLIENT_ID',
  'FARETRAIL_PARTNER_CLIENT_SECRET',
  'FARETRAIL_PARTNER_CLIENT_SECRET_FILE',
  'FARETRAIL_BUSINESS_BASE_URL',
  'FARETRAIL_BUSINESS_AUTH_URL',
  'FARETRAIL_BUSINESS_CLIENT_ID',
  'FARETRAIL_BUSINESS_CLIENT_SECRET',
  'FARETRAIL_BUSINESS_CLIENT_SECRET_FILE',
  'FARETRAIL_BUSINESS_ID',
  'FARETRAIL_ACCOUNTS_FILE',
  'FARETRAIL_CONTRACT_FILE',
  'FARETRAIL_TASK_QUEUE',
  'FARETRAIL_SEALING_KEYS',
  'FARETRAIL_SEALING_KEYS_FILE',
  'FARETRAIL_WEBHOOK_KEYS',
  'FARETRAIL_WEBHOOK_KEYS_FILE',
  'FARETRAIL_NOTIFY_ORIGINS',
  'FARETRAIL_NOTIFY_SECRETS',
  'FARETRAIL_NOTIFY_SECRETS_FILE',
  'FARETRAIL_NOTIFY_PRIVATE',
  'FARETRAIL_ENCRYPT_PAYLOADS',
  'FARETRAIL_PAYLOAD_KEYS',
  'FARETRAIL_PAYLOAD_KEYS_FILE',
  'FARETRAIL_CODEC_HOST',
  'FARETRAIL_CODEC_PORT',
  'FARETRAIL_CODEC_ORIGINS',
  'FARETRAIL_CODEC_TOKEN',
  'FARETRAIL_CODEC_TOKEN_FILE',
  'FARETRAIL_PUBLIC_URL',
  'FARETRAIL_INGRESS_HOST',
  'FARETRAIL_INGRESS_PORT',
  'FARETRAIL_JOURNAL_DIR',
  'FARETRAIL_JOURNAL_MAX_MB',
  'FARETRAIL_POLL_ACTIVE_MS',
  'FARETRAIL_POLL_RESERVED_MS',
  'FARETRAIL_POLL_PUSHED_MS',
  'FARETRAIL_RETRY_AFTER_MAX_MS',
  'FARETRAIL_METRICS_PORT',
  'FARETRAIL_LOG_LEVEL',
];

/** Variables of earlier versions, and what to set instead. */
const renamedSettings = new Map([
  ['FARETRAIL_DEPLOYMENT_NAME', 'TEMPORAL_DEPLOYMENT_NAME'],
  ['FARETRAIL_BUILD_ID', 'TEMPORAL_WORKER_BUILD_ID'],
]);

/** Settings of the sandbox and of the tests are theirs to check. */
const foreign = /^FARETRAIL_(SANDBOX|TEST)_/;

/** Kubernetes adds these for every service whose name begins with "faretrail". */
const serviceLink = /_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/;
const serviceAddress = /^(tcp|udp|sctp):\/\//;

// More slips than this are another name, not a misspelt one.
const maxSlips = 5;

/** One problem for each variable that begins with `FARETRAIL_` and sets nothing; a misspelt setting is a silent default. */
export function findUnknownSettings(env: Env, secretVariables: ReadonlySet<string>): string[] {
  return Object.entries(env)
    .filter(([name, value]) => name.startsWith('FARETRAIL_') && value && !isExpected(name, value, secretVariables))
    .map(([name]) => `${name}: ${remedy(name)}`);
}

function remedy(name: string): string {
  const newName = renamedSettings.get(name);
  if (newName !== undefined) return `renamed; set ${newName} instead`;
  const ranked = settingNames.map((known) => ({ known, distance: editDistance(name, known) }));
  const closest = ranked.reduce((best, next) => (next.distance < best.distance ? next : best));
  return closest.distance <= maxSlips
    ? `not a setting; did you mean ${closest.known}? Correct or unset it`
    : 'not a setting; unset it, or name it in FARETRAIL_ACCOUNTS_FILE as the place of a secret';
}

function isExpected(name: string, value: string, secretVariables: ReadonlySet<string>): boolean {
  if (settingNames.includes(name) || secretVariables.has(name) || foreign.test(name)) return true;
  return serviceLink.test(name) || (name.endsWith('_PORT') && serviceAddress.test(value));
}

/** Levenshtein's distance, one row at a time. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next[j] = Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1);
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
