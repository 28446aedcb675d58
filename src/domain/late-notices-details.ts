import type { LateNotices } from './late-notices.js';
import { nextNotice } from './notice-log.js';
import { hostOf } from './notify.js';
import { cell } from './trail-details.js';

// So that all of it stays below the 20,000 bytes that the server takes.
const maxRows = 50;
const maxMissed = 20;

/** What is still to be told and what never will be, as Markdown for the Temporal UI. */
export function describeLateNotices(about: string, { urls, log }: LateNotices, missed: readonly string[]): string {
  const rows = urls.flatMap(({ url, entry }, index) => {
    const next = nextNotice(log, index);
    if (next === undefined) return [];
    const waiting = log.notices.filter(({ number, only }) => number >= next.number && (only ?? index) === index);
    const known = next.at.slice(0, 19).replace('T', ' ');
    return [`| notify ${entry}, ${cell(hostOf(url))} | ${waiting.length} | no. ${next.number}, known since ${known} |`];
  });
  const table = ['| URL | to be told | next (UTC) |', '|---|---|---|', ...rows.slice(0, maxRows)].join('\n');
  return [
    `**What URLs are still to be told of ${cell(about, 200)}**, which has ended.`,
    ...missed.slice(0, maxMissed).map((line) => `Not notified: ${cell(line)}`),
    ...(rows.length > 0 ? [table, 'Why a URL does not take it is shown by its pending activity `notifyUrl`.'] : []),
  ].join('\n\n');
}
