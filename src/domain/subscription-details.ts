import type { SubscriptionStatus } from './subscription-status.js';
import { cell } from './trail-details.js';

const shownGenerations = 30;
const shownIds = 30;
const maxMessage = 300;
const gap = '\u00a0\u00a0'; // the UI puts columns side by side without any space between them

const second = (instant: string | null): string => cell((instant ?? '-').slice(0, 19).replace('T', ' '));

/** A subscription as Markdown for the Temporal UI. Holds neither a path nor a secret. */
export function describeSubscription(status: SubscriptionStatus): string {
  const { attention, generations, stillRegistered } = status;
  const rows = generations
    .slice(0, shownGenerations)
    .map((one) =>
      [
        one.generation,
        one.state,
        second(one.openedAt),
        one.until === null ? '-' : second(one.until),
        cell(one.subscriberId ?? '-'),
        one.isSecretKnown ? 'yes' : 'no',
      ].join(`${gap} | `),
    );
  const table = [
    '| address | state | opened (UTC) | accepted until (UTC) | subscriber | secret known |',
    '|---|---|---|---|---|---|',
    ...rows.map((row) => `| ${row} |`),
  ].join('\n');
  return [
    `**${status.state}**: ${cell(status.eventType)} to ${cell(status.publicUrl, 200)}`,
    ...(attention === null
      ? []
      : [
          `**Attention: ${attention.code}** since ${second(attention.since)} UTC: ${cell(attention.message, maxMessage)}`,
        ]),
    table,
    ...(stillRegistered.length === 0
      ? []
      : [
          `Refused here, still registered at the service: ${stillRegistered
            .slice(-shownIds)
            .map((id) => cell(id))
            .join(', ')}`,
        ]),
  ].join('\n\n');
}
