import type { OrderTrail } from './trail.js';

const shownEntries = 50;
/** So that 50 entries of three-byte letters stay below the 20,000 bytes that the server takes. */
const maxCell = 80;
const maxMessage = 300;

/** One cell of a Markdown table: words of the service may hold anything. */
export const cell = (text: string, maxLength = maxCell): string =>
  text.slice(0, maxLength).replace(/[|<>`\\[\]"\p{C}]/gu, ' ');

/** The trail as Markdown for the Temporal UI: where the order stands, what needs a person, and its timeline. */
export function describeTrail(trail: OrderTrail, undelivered: string[] = []): string {
  const { attention, deliveries, outcome } = trail;
  const head = [
    `**${cell(trail.status ?? 'not read yet')}** since ${trail.since}`,
    ...(outcome === null ? [] : [`outcome **${outcome}**`]),
    ...(trail.reference === undefined ? [] : [`reference ${cell(trail.reference)}`]),
  ].join(', ');
  const shown = trail.timeline.slice(-shownEntries);
  const rows = shown.map((entry) => `| ${cell(entry.at)} | ${cell(entry.status)} | ${entry.source} |`);
  return [
    head,
    ...(attention === null
      ? []
      : [`**Attention: ${attention.code}** since ${attention.since}: ${cell(attention.message, maxMessage)}`]),
    ...undelivered.map((line) => `Not notified: ${cell(line)}`),
    ['| seen at (UTC) | status | seen by |', '|---|---|---|', ...rows].join('\n'),
    `Deliveries: ${deliveries.received} (${deliveries.duplicate} duplicate). Reads: ${trail.reads}.`,
  ].join('\n\n');
}
