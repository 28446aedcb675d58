import { cell } from '../markdown.js';
import type { OrderTrail } from './trail.js';

const shownEntries = 50;
const maxMessage = 300;
const maxUndelivered = 20;

/** The UI puts columns side by side without any space between them. */
const gap = '\u00a0\u00a0';

const second = (instant: string): string => cell(instant.slice(0, 19).replace('T', ' '));

/** The trail as Markdown for the Temporal UI: where the order stands, what needs a person, and its timeline. */
export function describeTrail(trail: OrderTrail, undelivered: string[] = []): string {
  const { attention, deliveries, outcome } = trail;
  const head = [
    `**${cell(trail.status ?? 'not read yet')}** since ${second(trail.since)} UTC`,
    ...(outcome === null ? [] : [`outcome **${outcome}**`]),
    ...(trail.reference === undefined ? [] : [`reference ${cell(trail.reference)}`]),
  ].join(', ');
  const shown = trail.timeline.slice(-shownEntries);
  const rows = shown.map((entry) => `| ${second(entry.at)}${gap} | ${cell(entry.status)}${gap} | ${entry.source} |`);
  return [
    head,
    ...(attention === null
      ? []
      : [
          `**Attention: ${attention.code}** since ${second(attention.since)} UTC: ${cell(attention.message, maxMessage)}`,
        ]),
    ...undelivered.slice(0, maxUndelivered).map((line) => `Not notified: ${cell(line)}`),
    ['| seen at (UTC) | status | seen by |', '|---|---|---|', ...rows].join('\n'),
    `Deliveries: ${deliveries.received} (${deliveries.duplicate} duplicate). Reads: ${trail.reads}.`,
  ].join('\n\n');
}
