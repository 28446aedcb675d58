import Table from 'cli-table3';
import type { ChaosReport } from './run.js';
import type { Growth } from './soak.js';

/** `deliveriesLost` as words. */
const toWords = (name: string): string => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

/** The report as text. */
export function toText(report: ChaosReport): string {
  const { seed, seconds, deployment, problems, evidence, figures, faults, asked, growth } = report;
  const table = new Table({ colAligns: ['left', 'right'], style: { head: [], border: [] } });
  for (const [name, figure] of Object.entries(figures)) table.push([toWords(name), figure.toLocaleString('en-US')]);
  const list = (counts: Record<string, number>) =>
    Object.entries(counts)
      .map(([name, count]) => `${name} ${count}`)
      .sort()
      .join(', ');
  return [
    table.toString(),
    ...(growth.length > 0 ? [toGrowth(growth)] : []),
    deployment.join(', '),
    `faults: ${list(faults) || 'none'}`,
    `requests: ${list(asked)}`,
    problems.length === 0
      ? 'nothing is wrong'
      : `WRONG, ${problems.length}; logs and database are in ${evidence}:\n${problems.join('\n')}`,
    `seed ${seed}, ${seconds} s of faults`,
  ].join('\n');
}

function toGrowth(growth: readonly Growth[]): string {
  const table = new Table({ colAligns: ['left', 'right', 'right'], style: { head: [], border: [] } });
  table.push(['medians', 'second third', 'last third']);
  for (const { what, middle, last } of growth) table.push([what, Math.round(middle), Math.round(last)]);
  return table.toString();
}
