import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './temporal/free-port.js';
import { startServerProcess } from './temporal/server-process.js';

/** One line of a panel: its labels, and a value for each instant that has one. */
export interface TimeSeries {
  labels: Record<string, string>;
  /** Milliseconds since the epoch, and the value. */
  points: [number, number][];
}

/** A Prometheus that scrapes the processes of one run. */
export interface Prometheus {
  /** The `data` of an answer of its API. */
  ask<T>(path: string): Promise<T>;
  queryRange(expression: string, range: { fromMs: number; toMs: number }): Promise<TimeSeries[]>;
  stop(): Promise<void>;
}

export const scrapeEverySeconds = 5;
const readyWithinMs = 30_000;

/** A process to scrape, under the names that it has in the series. */
interface Target {
  job: string;
  instance: string;
  host: string;
}

interface PrometheusOptions {
  /** Holds its files. */
  folder: string;
  targets: readonly Target[];
  /** A file of rules. Default: none. */
  rules?: string;
  /** Default: the `prometheus` of the system. */
  program?: string;
}

/** Starts it. Rejects with the remedy where there is none. */
export async function startPrometheus({
  folder,
  targets,
  rules,
  program = 'prometheus',
}: PrometheusOptions): Promise<Prometheus> {
  const config = join(folder, 'prometheus.yml');
  const jobs = [...new Set(targets.map(({ job }) => job))].map((job_name) => ({
    job_name,
    static_configs: targets
      .filter(({ job }) => job === job_name)
      .map(({ instance, host }) => ({ targets: [host], labels: { instance } })),
  }));
  const interval = `${scrapeEverySeconds}s`;
  // JSON is YAML.
  const global = { scrape_interval: interval, evaluation_interval: interval };
  writeFileSync(config, JSON.stringify({ global, scrape_configs: jobs, rule_files: rules ? [rules] : [] }));
  const address = `127.0.0.1:${await freePort()}`;
  const data = join(folder, 'prometheus');
  const args = [`--config.file=${config}`, `--storage.tsdb.path=${data}`, `--web.listen-address=${address}`];
  const server = await startServerProcess(program, args).catch((error: Error) => {
    throw new Error(`Prometheus does not start, install it (apt-get install prometheus): ${error.message}`);
  });
  const deadline = Date.now() + readyWithinMs;
  while (!(await isReady(address))) {
    if (server.hasEnded() || Date.now() > deadline) throw new Error(`Prometheus is not ready:\n${server.logTail()}`);
    await sleep(200);
  }
  return {
    async ask<T>(path: string) {
      const { data } = (await (await fetch(`http://${address}/api/v1/${path}`)).json()) as { data: T };
      return data;
    },
    queryRange: (expression, range) => queryRange(address, expression, range),
    stop: server.stop,
  };
}

const isReady = async (address: string): Promise<boolean> =>
  await fetch(`http://${address}/-/ready`).then(
    ({ ok }) => ok,
    () => false,
  );

interface RangeAnswer {
  error?: string;
  data?: { result: { metric: Record<string, string>; values: [number, string][] }[] };
}

async function queryRange(
  address: string,
  query: string,
  { fromMs, toMs }: { fromMs: number; toMs: number },
): Promise<TimeSeries[]> {
  const body = new URLSearchParams({
    query,
    start: String(fromMs / 1_000),
    end: String(toMs / 1_000),
    step: String(scrapeEverySeconds),
  });
  const reply = await fetch(`http://${address}/api/v1/query_range`, { method: 'POST', body });
  const { data, error } = (await reply.json()) as RangeAnswer;
  if (data === undefined) throw new Error(`Prometheus refuses ${query}: ${error}`);
  return data.result.map(({ metric, values }) => ({
    labels: metric,
    points: values.map(([seconds, value]) => [seconds * 1_000, Number(value)]),
  }));
}
