import type { Env } from './env-reader.js';

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

/** One problem for each variable that begins with `FARETRAIL_` and is neither a setting nor the place of a secret; a misspelt setting is
 *  a silent default. */
export function findUnknownSettings(
  env: Env,
  settingNames: ReadonlySet<string>,
  secretVariables: ReadonlySet<string>,
): string[] {
  const isKnown = (name: string): boolean => settingNames.has(name) || secretVariables.has(name) || foreign.test(name);
  // Where a variable should be named, an operator may have put the secret itself: no problem may show it.
  const shown = [...settingNames].filter((name) => name.startsWith('FARETRAIL_') && !secretVariables.has(name));
  return Object.entries(env)
    .filter(([name, value]) => name.startsWith('FARETRAIL_') && value && !isKnown(name) && !isServiceLink(name, value))
    .map(([name]) => `${name}: ${remedy(name, shown)}`);
}

function remedy(name: string, settingNames: readonly string[]): string {
  const newName = renamedSettings.get(name);
  if (newName !== undefined) return `renamed; set ${newName} instead`;
  const ranked = settingNames.map((known) => ({ known, distance: editDistance(name, known) }));
  const closest = ranked.reduce((best, next) => (next.distance < best.distance ? next : best));
  return closest.distance <= maxSlips
    ? `not a setting; did you mean ${closest.known}? Correct or unset it`
    : 'not a setting; unset it, or name it in FARETRAIL_ACCOUNTS_FILE as the place of a secret';
}

const isServiceLink = (name: string, value: string): boolean =>
  serviceLink.test(name) || (name.endsWith('_PORT') && serviceAddress.test(value));

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
