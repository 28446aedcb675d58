import Table from 'cli-table3';
import { type Paint, withoutColour } from './paint.js';

const noLines = Object.fromEntries(
  [
    ...['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right'],
    ...['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid'],
  ].map((name) => [name, '']),
);

/** Columns of text under their heads, without lines. Cells must be plain. */
export function tableText(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  paint = withoutColour,
): string {
  const table = new Table({
    chars: { ...noLines, middle: '  ' },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
  table.push([...head], ...rows.map((row) => [...row]));
  const [first = '', ...rest] = table.toString().split('\n');
  return [paint('faint', first.trimEnd()), ...rest.map((line) => line.trimEnd())].join('\n');
}

/** Pairs of label and text under each other, the texts aligned. */
export function pairsText(pairs: readonly (readonly [label: string, text: string])[], paint: Paint): string {
  const width = Math.max(...pairs.map(([label]) => label.length));
  return pairs.map(([label, text]) => `${paint('faint', label.padEnd(width))}  ${text}`).join('\n');
}
