import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { scrapeEverySeconds, type TimeSeries } from '../stack/prometheus.js';
import { projectRoot } from '../stack/temporal/project-root.js';
import { composeSvg, ink, toSvg } from './chart.js';
import type { FleetRun } from './fleet-run.js';

/** A panel of the dashboard with what Prometheus answers to its expressions. */
export interface Panel {
  title: string;
  type: 'row' | 'stat' | 'timeseries';
  gridPos: { x: number; y: number; w: number; h: number };
  unit: string;
  isStacked: boolean;
  series: { name: string; points: TimeSeries['points'] }[];
}

interface DashboardFile {
  panels: {
    title: string;
    type: Panel['type'];
    gridPos: Panel['gridPos'];
    fieldConfig?: { defaults: { unit: string; custom?: { stacking: { mode: string } } } };
    targets?: { expr: string; legendFormat: string }[];
  }[];
}

export const dashboardFile = 'deploy/observability/grafana-dashboard.json';

/** Asks Prometheus what Grafana would ask it for this dashboard. */
export async function readPanels({ prometheus, fromMs, toMs }: FleetRun): Promise<Panel[]> {
  const { panels } = JSON.parse(readFileSync(join(projectRoot, dashboardFile), 'utf8')) as DashboardFile;
  return await Promise.all(
    panels.map(async ({ title, type, gridPos, fieldConfig, targets = [] }) => {
      const answers = await Promise.all(
        targets.map(async ({ expr, legendFormat }) =>
          (await prometheus.queryRange(filled(expr), { fromMs, toMs })).map(({ labels, points }) => ({
            name: legendFormat.replace(/\{\{(\w+)\}\}/g, (_, label: string) => labels[label] ?? ''),
            points: points.filter(([, value]) => Number.isFinite(value)),
          })),
        ),
      );
      const { unit = 'short', custom } = fieldConfig?.defaults ?? {};
      return { title, type, gridPos, unit, isStacked: custom?.stacking.mode === 'normal', series: answers.flat() };
    }),
  );
}

/** The variables of the dashboard, as Grafana fills them in: all accounts, and four scrapes for a rate. */
const filled = (expression: string): string =>
  expression.replaceAll('$__rate_interval', `${4 * scrapeEverySeconds}s`).replaceAll('$account', '.*');

const width = 1440;
const columnWidth = width / 24;
const rowHeight = 28;
const headHeight = 76;
const shownAtMost = 6;
/** As the chart library places a legend, roughly. */
const legendLine = { left: 10, itemGap: 12, height: 19, letter: 5.6, icon: 16 };
const colours = ['#0f766e', '#d97706', '#2563eb', '#be185d', '#65a30d', '#7c3aed'];
const minuteMs = 60_000;

/** What is drawn, and what happened while it was measured. */
export interface DashboardPicture extends Pick<FleetRun, 'fromMs' | 'toMs' | 'events'> {
  panels: readonly Panel[];
}

/** Draws the panels where the dashboard has them. */
export function drawDashboard({ panels, ...clock }: DashboardPicture): string {
  const { fromMs, toMs, events } = clock;
  const story = events.map(({ text }, i) => `${i + 1}: ${text}`).join(' · ');
  const subtext = `Two workers and an ingress, ${Math.round((toMs - fromMs) / minuteMs)} minutes.\n${story}.`;
  const text = 'The panels of the Grafana dashboard of faretrail, drawn from Prometheus';
  const title = {
    ...{ text, subtext, left: 8, top: 6 },
    textStyle: { fontSize: 18, color: ink.text },
    subtextStyle: { fontSize: 12, lineHeight: 17, color: ink.faint },
  };
  const head = { svg: toSvg({ title }, { width, height: headHeight }), x: 0, y: 0 };
  const parts = panels.map((panel) => ({
    svg: drawPanel(panel, clock),
    x: panel.gridPos.x * columnWidth,
    y: panel.gridPos.y * rowHeight + headHeight,
  }));
  const height = headHeight + Math.max(...panels.map(({ gridPos: { y, h } }) => (y + h) * rowHeight));
  return composeSvg(text, [head, ...parts], { width, height });
}

type Clock = Omit<DashboardPicture, 'panels'>;

function drawPanel(panel: Panel, clock: Clock): string {
  const { title: text, type, gridPos, series, unit } = panel;
  const size = { width: gridPos.w * columnWidth, height: gridPos.h * rowHeight };
  const heading = { text, left: 5, top: 4, textStyle: { fontSize: type === 'row' ? 15 : 12, color: ink.text } };
  const inTheMiddle = (said: string, fontSize: number, color: string) =>
    toSvg({ title: [heading, { text: said, left: 'center', top: 'middle', textStyle: { fontSize, color } }] }, size);
  if (type === 'row') return toSvg({ title: heading }, size);
  if (series.length === 0) return inTheMiddle('No data', 13, ink.faint);
  if (type === 'timeseries') return toSvg({ title: heading, ...linesOf(panel, clock, size.width) }, size);
  return inTheMiddle(valueText(series[0]?.points.at(-1)?.[1] ?? 0, unit), 44, colours[0] ?? ink.text);
}

/** The highest lines of a panel; what it leaves out is said beside the last. */
function linesOf({ series: all, unit, isStacked }: Panel, { fromMs, toMs, events }: Clock, panelWidth: number) {
  const highest = (points: TimeSeries['points']) => Math.max(...points.map(([, value]) => value));
  const series = all.toSorted((a, b) => highest(b.points) - highest(a.points)).slice(0, shownAtMost);
  const rest = all.length - series.length;
  const names = series.map(({ name }, i) => (rest > 0 && i === shownAtMost - 1 ? `${name}, and ${rest} more` : name));
  const minutes = (ms: number) => (ms - fromMs) / minuteMs;
  const instants = [...new Set(series.flatMap(({ points }) => points.map(([at]) => at)))].sort((a, b) => a - b);
  const dataOf = (points: TimeSeries['points']) => {
    const values = new Map(points);
    return instants.map((at) => [minutes(at), values.get(at) ?? (isStacked ? 0 : null)]);
  };
  const legend = legendOf(names, panelWidth);
  return {
    color: colours,
    legend: legend.option,
    grid: { left: 58, right: 14, top: 32, bottom: 26 + legend.height },
    xAxis: {
      ...{ type: 'value', min: 0, max: minutes(toMs), interval: 1, splitLine: { show: false } },
      axisLabel: { fontSize: 10, color: ink.faint, formatter: '{value} min' },
    },
    yAxis: {
      ...{ type: 'value', min: 0, splitNumber: 3, splitLine: { lineStyle: { color: ink.line } } },
      axisLabel: { fontSize: 10, color: ink.faint, formatter: (value: number) => valueText(value, unit) },
    },
    series: series.map(({ points }, i) => ({
      ...{ type: 'line', name: names[i], data: dataOf(points), showSymbol: false, lineStyle: { width: 1.5 } },
      ...(isStacked && { stack: 'all', areaStyle: { opacity: 0.25 } }),
      ...(i === 0 && { markLine: happenings(events.map(({ atMs }) => minutes(atMs))) }),
    })),
  };
}

/** A legend below the chart, and how much room it takes there. */
function legendOf(names: readonly string[], panelWidth: number) {
  const { left, itemGap, letter, icon } = legendLine;
  let lines = 1;
  let used = 0;
  for (const name of names) {
    const itemWidth = name.length * letter + icon;
    if (used > 0 && used + itemWidth > panelWidth - 2 * left) [lines, used] = [lines + 1, 0];
    used += itemWidth + itemGap;
  }
  const option = {
    ...{
      left,
      bottom: 4,
      width: panelWidth - 2 * left,
      itemWidth: 10,
      itemHeight: 3,
      itemGap,
      icon: 'rect',
      padding: 0,
    },
    textStyle: { fontSize: 10, color: ink.text },
  };
  return { option, height: lines * legendLine.height };
}

const happenings = (at: readonly number[]) => ({
  ...{ symbol: 'none', silent: true, lineStyle: { color: ink.goal, type: 'dashed', width: 1, opacity: 0.6 } },
  data: at.map((xAxis, i) => ({
    xAxis,
    label: { formatter: String(i + 1), color: ink.goal, fontSize: 9, distance: 2 },
  })),
});

const short = (value: number): string => value.toLocaleString('en-US', { maximumSignificantDigits: 3 });

/** A value in the unit that Grafana would choose. */
function valueText(value: number, unit: string): string {
  if (value === 0) return '0';
  if (unit === 's') return value < 1 ? `${short(value * 1_000)} ms` : `${short(value)} s`;
  if (unit === 'bytes') return `${short(value / 2 ** 20)} MiB`;
  if (unit === 'percentunit') return `${short(value * 100)} %`;
  return unit === 'short' ? short(value) : `${short(value)}/s`;
}
