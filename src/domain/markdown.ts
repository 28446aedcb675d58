import type { Attention } from './attention.js';

// Texts for the Temporal UI. Words of the service may hold any character.

/** With this limit 50 entries of three-byte letters stay below the server's limit of 20,000 bytes. */
const maxCell = 80;
const maxMessage = 500;

/** One cell of a Markdown table, or a word in a line. */
export const cell = (text: string, maxLength = maxCell): string =>
  text.slice(0, maxLength).replace(/[|<>`\\[\]"\p{C}]/gu, ' ');

/** A longer text in a line. */
export const messageCell = (text: string): string => cell(text, maxMessage);

/** An ISO instant to the second: `2026-05-01 08:30:00`, in UTC. */
export const second = (instant: string): string => cell(instant.slice(0, 19).replace('T', ' '));

/** The line about what needs a person, and since when; empty without attention. */
export const attentionLines = (attention: Attention | null): string[] =>
  attention === null
    ? []
    : [`**Attention: ${attention.code}** since ${second(attention.since)} UTC: ${messageCell(attention.message)}`];

/** The UI shows columns without any space between them. */
const gap = '\u00a0\u00a0';

/** A table of cells. */
export const tableOf = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [
    `| ${head.join(' | ')} |`,
    `|${head.map(() => '---|').join('')}`,
    ...rows.map((row) => `| ${row.join(`${gap} | `)} |`),
  ].join('\n');
