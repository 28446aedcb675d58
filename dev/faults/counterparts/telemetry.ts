import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { createFaretrailClient } from '../../../src/client/index.js';
import { type Prometheus, startPrometheus } from '../../stack/prometheus.js';
import { until } from '../../stack/run/until.js';
import { findDevServer } from '../../stack/temporal/dev-server.js';
import { projectRoot } from '../../stack/temporal/project-root.js';
import { runCommand } from '../../stack/temporal/run-command.js';
import { openStage, type Stage } from '../chaos/stage.js';
import { subscribe } from '../chaos/work.js';
import type { Row, Wanted } from './report.js';
import { type JaegerSpan, type Observatory, startObservatory } from './telemetry-programs.js';
import { debianTool, goTool, pythonTool, type Tool } from './tools.js';

const prometheusVersion = '2.42.0+ds-5+deb12u1';
/** A poll finds the changes of the first order, deliveries announce those of the second. */
const orders = { polled: 'polled', announced: 'announced' } as const;
const shownWithinMs = 60_000;
const alerts = join(projectRoot, 'deploy/observability/alerts.yml');

/** A caller, worker and ingress send their spans to a collector and Jaeger, and Prometheus scrapes them under our alerts. */
export async function telemetry({ say, onEnd }: Wanted): Promise<Row[]> {
  const prometheusTool = await debianTool('prometheus', prometheusVersion, say);
  const python = await pythonTool('opentelemetry-sdk', 'dev/faults/counterparts/programs/telemetry', 'caller.py', say);
  const tools = { collector: await goTool('collector', say), jaeger: await goTool('jaeger', say) };
  const temporalProgram = await findDevServer(say);
  const folder = mkdtempSync(join(tmpdir(), 'faretrail-counterparts-'));
  onEnd(() => rmSync(folder, { recursive: true, force: true }));
  const observatory = await startObservatory(tools, folder, onEnd);
  const env = {
    ...{ OTEL_TRACES_EXPORTER: 'otlp', OTEL_EXPORTER_OTLP_ENDPOINT: observatory.endpoint },
    OTEL_BSP_SCHEDULE_DELAY: '500',
  };
  const stage = await openStage({ temporalProgram, tokenLifetimeSeconds: 600, env });
  onEnd(() => stage.close());
  const targets = Object.entries(stage.metricsUrls).map(([instance, url]) => ({
    ...{ instance, host: new URL(url).host },
    job: instance === 'ingress' ? 'faretrail-ingress' : 'faretrail-worker',
  }));
  const prometheus = await startPrometheus({ program: prometheusTool.program, folder, targets, rules: alerts });
  onEnd(() => prometheus.stop());
  await subscribe(stage);
  say('collector, Jaeger and Prometheus are up');
  const traceIds = await rideBoth(python, stage, env);
  say('both orders have ended');
  const rows = [
    await tracesRow(python, observatory, traceIds),
    await jaegerRow(tools.jaeger, observatory),
    await collectorRow(tools.collector, observatory),
    await prometheusRow({ tool: prometheusTool, prometheus, stage, folder }),
  ];
  stage.keeps = rows.some(({ wrong }) => wrong.length > 0);
  return rows;
}

type TraceIds = Record<keyof typeof orders, string>;

/** Each order takes its course while the caller waits for its end. */
async function rideBoth(tool: Tool, stage: Stage, env: Record<string, string>): Promise<TraceIds> {
  const { sandbox, address, taskQueue, client } = stage;
  const start = [{ status: 'Routing', afterMs: 0 }];
  const ids = Object.values(orders);
  await sandbox.addOrders(ids.map((orderId) => ({ interface: 'business', orderId, script: start })));
  const child = spawn(tool.program, [...tool.args], {
    env: {
      ...{ ...process.env, ...env, OTEL_SERVICE_NAME: 'caller' },
      ...{ TEMPORAL_ADDRESS: address, FARETRAIL_TASK_QUEUE: taskQueue },
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  child.stdin.end(JSON.stringify({ orders: ids, url: `${stage.receivers['receiver-1'].origin}/told` }));
  const [line = ''] = await Promise.race([once(createInterface(child.stdout), 'line'), ended.then(() => [])]);
  const rides = createFaretrailClient({ client, taskQueue });
  const shows = (orderId: string, status: string) =>
    until(`${orderId} does not show ${status}`, async () => {
      const trail = await rides.get('business', orderId).trail();
      return trail.status === status;
    });
  for (const [orderId, enabled] of [
    [orders.polled, false],
    [orders.announced, true],
  ] as const) {
    await sandbox.setDeliverySettings({ enabled, delayUpToMs: 0, duplicated: 0 });
    for (const status of ['Confirmed', 'Driving', 'Completed']) {
      await sandbox.setStatus('business', orderId, status);
      await shows(orderId, status);
    }
  }
  const [code] = await ended;
  if (code !== 0) throw new Error(`the caller in Python ended with ${code}`);
  return JSON.parse(line) as TraceIds;
}

/** Does one of these spans stand below a span of that name? */
function isBelow(spans: readonly JaegerSpan[], name: string, above: string): boolean {
  const parentOf = ({ references }: JaegerSpan) => spans.find(({ spanId }) => spanId === references[0]?.spanID);
  return spans.some((span) => {
    if (span.name !== name) return false;
    for (let parent = parentOf(span); parent; parent = parentOf(parent)) if (parent.name === above) return true;
    return false;
  });
}

const read = 'GET /v1/orders/{order_id}';
const delivery = 'POST /webhooks/:account/:eventType/:capability';

/** What is missing of a trace that begins with `root` and leads to a read and to a notice. */
export function missingOf(root: string, spans: readonly JaegerSpan[]): string[] {
  const steps = [
    [read, root],
    ['activity notifyUrl', root],
    ['POST', 'activity notifyUrl'],
  ] as const;
  const known = new Set(spans.map(({ spanId }) => spanId));
  const [first] = spans.filter(({ references }) => references.length === 0);
  const orphans = spans.filter(({ references: [parent] }) => parent !== undefined && !known.has(parent.spanID));
  return [
    ...(first?.name === root ? [] : [`it begins with ${first?.name}, not with ${root}`]),
    ...steps
      .filter(([name, above]) => !isBelow(spans, name, above))
      .map(([name, above]) => `no ${name} below ${above}`),
    ...orphans.map(({ name }) => `${name} has a parent that is in no trace`),
  ];
}

const serviceOf = (spans: readonly JaegerSpan[]): string =>
  [...new Set(spans.map(({ service }) => service))].join(', ');

async function tracesRow(tool: Tool, observatory: Observatory, traceIds: TraceIds): Promise<Row> {
  const look = async () => await observatory.trace(traceIds.polled);
  await until('', async () => missingOf('checkout', await look()).length === 0, { withinMs: shownWithinMs }).catch(
    () => undefined,
  );
  const spans = await look();
  return {
    tool: `${tool.name} (Python)`,
    version: tool.version,
    tried: 'a caller with the interceptor of its Temporal SDK has an order followed that is polled',
    came: `one trace of ${spans.length} spans of ${serviceOf(spans)}, from the caller to the reads and the notices`,
    wrong: missingOf('checkout', spans),
  };
}

async function jaegerRow({ name: tool, version }: Tool, observatory: Observatory): Promise<Row> {
  const look = async () => {
    const ids = await observatory.tracesOf('faretrail-ingress');
    const traces = await Promise.all(ids.map((id) => observatory.trace(id)));
    return { traces, whole: traces.filter((spans) => missingOf(delivery, spans).length === 0) };
  };
  await until('', async () => (await look()).whole.length > 0, { withinMs: shownWithinMs }).catch(() => undefined);
  const { traces, whole } = await look();
  const [best = traces[0] ?? []] = whole;
  return {
    ...{ tool, version },
    tried: 'an order whose changes deliveries announce',
    came: `${whole.length} of ${traces.length} traces lead from a delivery to its read and its notice; one has ${best.length} spans of ${serviceOf(best)}`,
    wrong:
      whole.length > 0 ? [] : [`of ${traces.length} traces with deliveries: ${missingOf(delivery, best).join('; ')}`],
  };
}

async function collectorRow({ name: tool, version }: Tool, observatory: Observatory): Promise<Row> {
  const { taken, lost } = await observatory.counts();
  return {
    ...{ tool, version },
    tried: 'takes the spans of all of them over OTLP/HTTP, and hands them on to Jaeger',
    came: `${taken} spans taken, ${lost} refused or lost`,
    wrong: taken > 0 && lost === 0 ? [] : [`${taken} spans were taken, and ${lost} refused or lost`],
  };
}

interface Scraped {
  tool: Tool;
  prometheus: Prometheus;
  stage: Stage;
  folder: string;
}

interface Targets {
  activeTargets: { scrapeUrl: string; health: string }[];
}

interface RuleGroups {
  groups: {
    rules: { name: string; health: string; lastError?: string; state: string; alerts: { labels: object }[] }[];
  }[];
}

async function prometheusRow({ tool, prometheus, stage, folder }: Scraped): Promise<Row> {
  const askTargets = async () => (await prometheus.ask<Targets>('targets')).activeTargets;
  const askRules = async () => (await prometheus.ask<RuleGroups>('rules')).groups.flatMap(({ rules }) => rules);
  const areKnown = (list: { health: string }[]) => list.every(({ health }) => health !== 'unknown');
  await until(
    'Prometheus has not looked at all',
    async () => areKnown(await askTargets()) && areKnown(await askRules()),
  );
  const [activeTargets, rules] = [await askTargets(), await askRules()];
  const names = await prometheus.ask<string[]>('label/__name__/values');
  const problems = await lint(tool, stage, folder);
  const count = readFileSync(alerts, 'utf8').split('- alert: ').length - 1;
  return {
    tool: tool.name,
    version: tool.version,
    tried:
      'scrapes two workers and an ingress, and evaluates the alerts; promtool reads rules, their tests, and every page of metrics',
    came: `${activeTargets.length} targets up, ${rules.length} alerts evaluated and none firing, ${names.filter(isOurs).length} series names of ours, all described`,
    wrong: [
      ...activeTargets.filter(({ health }) => health !== 'up').map(({ scrapeUrl }) => `${scrapeUrl} is not up`),
      ...(activeTargets.length === 3 ? [] : [`${activeTargets.length} targets`]),
      ...(rules.length === count ? [] : [`${rules.length} of ${count} alerts were loaded`]),
      ...rules.filter(({ health }) => health !== 'ok').map(({ name, lastError }) => `${name}: ${lastError}`),
      ...rules
        .filter(({ state }) => state === 'firing')
        .map(({ name, alerts: firing }) => `${name} fires: ${JSON.stringify(firing.map(({ labels }) => labels))}`),
      ...undescribed(names, readFileSync(join(projectRoot, 'docs/reference/metrics.md'), 'utf8')),
      ...problems,
    ],
  };
}

const isOurs = (name: string): boolean => name.startsWith('faretrail_');
/** Metrics without a series before their first event. */
const comesLater = /_total$|^faretrail_held_deliveries$/;

/** How the names that Prometheus knows differ from the described ones. */
export function undescribed(names: readonly string[], page: string): string[] {
  const rows = [...page.matchAll(/^\| `(\w+)` \| (?:counter|gauge|histogram) \|/gm)].map(([, name = '']) => name);
  const shown = new Set(names.map((name) => (rows.includes(name) ? name : name.replace(/_(bucket|sum|count)$/, ''))));
  return [
    ...[...shown].filter((name) => isOurs(name) && !rows.includes(name)).map((name) => `${name} is not described`),
    ...rows.filter((name) => !shown.has(name) && !comesLater.test(name)).map((name) => `Prometheus knows no ${name}`),
  ];
}

/** What promtool has to say against the rules and our metrics; those of Node's and of the SDK's own exporter are not ours to name. */
async function lint({ program }: Tool, stage: Stage, folder: string): Promise<string[]> {
  const promtool = join(dirname(program), 'promtool');
  const run = (...args: string[]) =>
    runCommand(promtool, args, { cwd: dirname(alerts), timeLimitMs: 60_000 }).then(
      () => [],
      (error: Error) => [error.message],
    );
  const wrong = [...(await run('check', 'rules', alerts)), ...(await run('test', 'rules', 'alerts.test.yml'))];
  for (const name of Object.keys(stage.metricsUrls) as (keyof Stage['metricsUrls'])[]) {
    const file = join(folder, `${name}.metrics`);
    writeFileSync(file, (await stage.metrics(name)) ?? '');
    const check = ['-c', '"$0" check metrics < "$1" 2>&1 || true', promtool, file];
    const said = await runCommand('sh', check, { cwd: folder, timeLimitMs: 60_000 });
    wrong.push(...new Set(said.split('\n').filter(isOurs)));
  }
  return wrong;
}
