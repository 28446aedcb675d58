import type { RunInNeed } from './attention-runs.js';
import { quoted } from './command-line.js';
import type { Paint } from './paint.js';
import { clip, plain, utc } from './plain-text.js';
import { tableText } from './table.js';

const tokenCodes: readonly string[] = ['credentialsRejected', 'scopeRejected', 'grantRejected'];

/** The words of the command that helps, or shows more. */
export function commandFor({ kind, account, id, code }: Pick<RunInNeed, 'kind' | 'account' | 'id' | 'code'>): string[] {
  if (kind === 'token' || tokenCodes.includes(code)) return ['tokens'];
  switch (kind) {
    case 'order':
      return ['show', account, id];
    case 'ride':
      return code === 'outcomeUnknown' ? ['resolve-ride', account, id] : ['doctor'];
    case 'subscription':
      return code === 'subscriptionSilent' ? ['rotate', account, id] : ['subscriptions', '--account', account];
    case 'parked':
      return ['route', account, id, '--order', 'ID'];
    default:
      return ['doctor'];
  }
}

/** The same as one line to type. */
export const commandTextFor = (run: RunInNeed): string => commandFor(run).map(quoted).join(' ');

/** The runs as a table. Ids stay whole, since people copy them. */
export function attentionText(runs: readonly RunInNeed[], paint: Paint): string {
  if (runs.length === 0) return 'Nothing needs a person.';
  const rows = runs.map((run) => [
    run.kind,
    clip(run.account, 16),
    plain(run.id),
    paint('bad', clip(run.code, 20)),
    run.since === null ? '-' : utc(run.since),
    plain(commandTextFor(run)),
  ]);
  return tableText(['kind', 'account', 'id', 'attention', 'since (UTC)', 'what helps'], rows, paint);
}
