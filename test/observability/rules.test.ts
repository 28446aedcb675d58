import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect, it } from 'vitest';
import { projectRoot } from '../../dev/stack/temporal/project-root.js';
import { textFile } from '../support/json-file.js';
import { describedMetrics } from './metrics-table.js';

const page = (path: string) => readFileSync(join(projectRoot, path), 'utf8');
const rules = page('deploy/observability/alerts.yml');
const { panels } = JSON.parse(page('deploy/observability/grafana-dashboard.json')) as {
  panels: { title: string; type: string; targets?: { expr: string }[] }[];
};
const described = new Set(describedMetrics(page('docs/reference/metrics.md')).map(({ name }) => name));

/** Names of metrics in text, such as a PromQL expression; parts of a histogram count as the histogram. */
const metricsIn = (text: string): string[] =>
  [...text.matchAll(/\b(?:faretrail|temporal|process|nodejs)_\w+/g)].map(([name]) =>
    name.replace(/_(?:bucket|sum|count)$/, ''),
  );
const unknown = (text: string): string[] => metricsIn(text).filter((name) => !described.has(name));
const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));

it('the dashboard asks for metrics of docs/reference/metrics.md alone, in every panel', () => {
  expect(expressions.length).toBeGreaterThan(20);
  for (const expression of expressions) {
    expect(metricsIn(expression), expression).not.toEqual([]);
    expect(unknown(expression), expression).toEqual([]);
  }
  for (const { type, title, targets = [] } of panels) expect(type === 'row' || targets.length > 0, title).toBe(true);
});

const names = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name = '']) => name);

it('the alerts ask for metrics of docs/reference/metrics.md alone', () => {
  const code = rules.replace(/^#.*$/gm, '').replace(/summary: .*$/gm, '');
  expect(metricsIn(code).length).toBeGreaterThan(names.length);
  expect(unknown(code)).toEqual([]);
});

it('the alerts have their remedies in docs/reference/alerts.md, one section each, to which their runbook_url leads', () => {
  const [, ...sections] = page('docs/reference/alerts.md').split(/^## /m);
  expect(names.length).toBeGreaterThan(10);
  expect(sections.map((section) => /^\w+/.exec(section)?.[0])).toEqual(names);
  for (const section of sections) expect(section).toMatch(/^\w+\n\n.+\n\n\*\*Remedy:\*\* .+\n+$/);
  const runbooks = [...rules.matchAll(/^ +runbook_url: (.*)$/gm)].map(([, runbook]) => runbook);
  expect(runbooks).toEqual(names.map((name) => `docs/reference/alerts.md#${name.toLowerCase()}`));
});

it('each alert has a place in the test of promtool', () => {
  const tests = page('deploy/observability/alerts.test.yml');
  for (const name of names) expect(tests).toContain(`alertname="${name}"`);
});

const folders = (process.env.PATH ?? '').split(delimiter);
const promtool = folders.map((directory) => join(directory, 'promtool')).find((path) => existsSync(path));
if (!promtool)
  process.stderr.write('alerts: promtool (Debian package prometheus) is not on the PATH; its checks are skipped\n');

/** Throws with what promtool says against it. */
const ask = (...args: string[]): string =>
  execFileSync(promtool ?? '', args, { cwd: join(projectRoot, 'deploy/observability'), encoding: 'utf8' });
const itWithPromtool = it.skipIf(!promtool);

itWithPromtool('promtool accepts the alerts, and finds that each fires on its trouble and on nothing else', () => {
  expect(ask('check', 'rules', 'alerts.yml')).toContain('SUCCESS');
  expect(ask('test', 'rules', 'alerts.test.yml')).toContain('SUCCESS');
});

itWithPromtool('promtool accepts the expressions of the dashboard', () => {
  const plain = expressions.map((expr) => expr.replaceAll('$__rate_interval', '5m').replaceAll('$account', '.*'));
  const lines = plain.map((expr, index) => `- record: panel_${index}\n    expr: ${JSON.stringify(expr)}`);
  const file = textFile(`groups:\n- name: panels\n  rules:\n  ${lines.join('\n  ')}\n`);
  expect(ask('check', 'rules', file)).toContain(`${expressions.length} rules found`);
});
