import type { Summary } from '../bench/report.js';
import { composeSvg, ink, toSvg } from './chart.js';

/** What `npm run bench -- --json` prints. */
export type BenchResults = Partial<Record<'follow' | 'ingress', readonly Summary[]>>;

/** Bars on one axis: each row is a measure, with a bar for each side. */
interface Panel {
  title: string;
  bench: keyof BenchResults;
  /** Whom faretrail stands beside. */
  beside: string;
  /** Names of measures, and what the row says. */
  rows: Record<string, string>;
  unit: string;
  /** A goal as a line across the row that it is about. */
  goal?: number;
}

interface Plot {
  title: string;
  subtitle: string;
  panels: readonly Panel[];
}

/** The plots by their file. */
export const plots: Record<string, Plot> = {
  'history.svg': {
    title: 'Temporal history of one followed order',
    subtitle: 'Less is better: histories are stored, replayed and paid for.',
    panels: [
      {
        title: 'Events of a 4-hour order (8 statuses, default pace)',
        bench: 'follow',
        beside: 'plain tracker',
        rows: { '4-hour order, 8 statuses, default pace, polled: events': '' },
        unit: 'events',
      },
      {
        title: 'Events of a 20-second order, read each second',
        bench: 'follow',
        beside: 'plain tracker',
        rows: { '20-s orders, read each second: events per order': '' },
        unit: 'events',
      },
      {
        title: 'Size of the history of that 20-second order',
        bench: 'follow',
        beside: 'plain tracker',
        rows: { '20-s orders, read each second: history per order': '' },
        unit: 'kB',
      },
    ],
  },
  'acknowledgement.svg': {
    title: 'From a delivery to its 2xx',
    subtitle: 'Less is better. 5,000 deliveries a second for 60 s; Temporal is stopped, all wait in the journal.',
    panels: [
      {
        title: 'Latency; the goal is a p99 of at most 10 ms',
        bench: 'ingress',
        beside: 'bare route',
        rows: {
          'Temporal stopped, 5,000/s for 60 s: until the 2xx, p50': 'p50',
          'Temporal stopped, 5,000/s for 60 s: until the 2xx, p99': 'p99',
        },
        unit: 'ms',
        goal: 10,
      },
    ],
  },
  'orders-per-second.svg': {
    title: 'Orders per second, 64 in flight',
    subtitle: 'More is better. Server, service, worker and load share two cores.',
    panels: [
      {
        title: 'Beside a plain tracker that sleeps and polls',
        bench: 'follow',
        beside: 'plain tracker',
        rows: {
          'orders that have ended at the first read, 64 in flight': 'ended at the first read',
          'orders of 4 statuses, 300 ms each, 64 in flight': '4 statuses of 300 ms',
        },
        unit: 'orders/s',
      },
    ],
  },
};

const width = 820;
const headHeight = 62;
const barHeight = 22;
const colours = { ours: '#0f766e', beside: '#9ca3af' };

/** Throws when the results lack a measure of the plot. */
export function drawPlot({ title, subtitle, panels }: Plot, results: BenchResults): string {
  const head = toSvg(
    {
      title: {
        ...{ text: title, subtext: subtitle, left: 16, top: 10, itemGap: 6 },
        textStyle: { fontSize: 18, color: ink.text },
        subtextStyle: { fontSize: 12, color: ink.faint },
      },
    },
    { width, height: headHeight },
  );
  const parts = [{ svg: head, x: 0, y: 0 }];
  let y = headHeight;
  for (const panel of panels) {
    const height = (panel.goal ? 60 : 44) + Object.keys(panel.rows).length * (2 * barHeight + 14);
    parts.push({ svg: drawPanel(panel, results, height), x: 0, y });
    y += height;
  }
  return composeSvg(title, parts, { width, height: y + 8 });
}

function drawPanel({ title, bench, beside, rows, unit, goal }: Panel, results: BenchResults, height: number): string {
  const measures = Object.keys(rows).map((name) => measureOf(results, bench, name));
  const bars = (name: string, color: string, values: number[]) => ({
    ...{ type: 'bar', name, data: values, barWidth: barHeight - 4, barGap: '20%', itemStyle: { color } },
    label: {
      ...{ show: true, position: 'right', color: ink.text },
      formatter: ({ value }: { value: number }) => `${say(value, unit)}   {name|${name}}`,
      rich: { name: { color: ink.faint } },
    },
  });
  return toSvg(
    {
      title: { text: title, left: 16, top: 8, textStyle: { fontSize: 13, fontWeight: 'bold', color: ink.text } },
      grid: { left: Object.values(rows).some(Boolean) ? 160 : 20, right: 210, top: goal ? 48 : 32, bottom: 8 },
      xAxis: { type: 'value', min: 0, ...(goal && { max: goal }), show: false },
      yAxis: {
        ...{ type: 'category', inverse: true, data: Object.values(rows) },
        ...{ axisTick: { show: false }, axisLine: { lineStyle: { color: ink.faint } }, axisLabel: { color: ink.text } },
      },
      series: [
        {
          ...bars(
            'faretrail',
            colours.ours,
            measures.map(({ faretrail }) => faretrail),
          ),
          ...(goal && { markLine: goalLine(goal, unit) }),
        },
        bars(
          beside,
          colours.beside,
          measures.map(({ plain }) => plain),
        ),
      ],
    },
    { width, height },
  );
}

const goalLine = (goal: number, unit: string) => ({
  ...{ symbol: 'none', silent: true, data: [{ xAxis: goal }] },
  lineStyle: { color: ink.goal, type: 'dashed' },
  label: { formatter: `goal: ${say(goal, unit)}`, color: ink.goal, position: 'start' },
});

const say = (value: number, unit: string): string => `${value.toLocaleString('en-US')} ${unit}`;

function measureOf(results: BenchResults, bench: keyof BenchResults, name: string): Summary {
  const measure = results[bench]?.find((one) => one.name === name);
  if (measure) return measure;
  throw new Error(`the figures have no measure "${name}" of the bench ${bench}; measure it: npm run bench -- --json`);
}
