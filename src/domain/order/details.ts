import { attentionLines, cell, second, tableOf } from '../markdown.js';
import type { OrderTrail } from './trail.js';

const shownEntries = 50;
const maxUndelivered = 20;

/** The trail as Markdown for the Temporal UI: where the order stands, what needs a person, and its timeline. */
export function describeTrail(trail: OrderTrail, undelivered: string[] = []): string {
  const { attention, deliveries, outcome } = trail;
  const head = [
    `**${cell(trail.status ?? 'not read yet')}** since ${second(trail.since)} UTC`,
    ...(outcome === null ? [] : [`outcome **${outcome}**`]),
    ...(trail.reference === undefined ? [] : [`reference ${cell(trail.reference)}`]),
  ].join(', ');
  const shown = trail.timeline.slice(-shownEntries);
  const rows = shown.map(({ at, status, source }) => [second(at), cell(status), source]);
  return [
    head,
    ...attentionLines(attention),
    ...undelivered.slice(0, maxUndelivered).map((line) => `Not notified: ${cell(line)}`),
    tableOf(['seen at (UTC)', 'status', 'seen by'], rows),
    `Deliveries: ${deliveries.received} (${deliveries.duplicate} duplicate). Reads: ${trail.reads}.`,
  ].join('\n\n');
}
