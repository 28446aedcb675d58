import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { answersAt } from './run/until.js';
import { freePort } from './temporal/free-port.js';
import { startServerProcess } from './temporal/server-process.js';

/** A Prometheus that scrapes the processes of one run. */
export interface Prometheus {
  /** The `data` of an answer of its API. */
  ask<T>(path: string): Promise<T>;
  stop(): Promise<void>;
}

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
  const interval = '5s';
  // JSON is YAML.
  const global = { scrape_interval: interval, evaluation_interval: interval };
  writeFileSync(config, JSON.stringify({ global, scrape_configs: jobs, rule_files: rules ? [rules] : [] }));
  const address = `127.0.0.1:${await freePort()}`;
  const data = join(folder, 'prometheus');
  const args = [`--config.file=${config}`, `--storage.tsdb.path=${data}`, `--web.listen-address=${address}`];
  const isUp = () => answersAt(`http://${address}/-/ready`);
  const server = await startServerProcess(program, args, { isUp }).catch((error: Error) => {
    throw new Error(`Prometheus does not start, install it (apt-get install prometheus): ${error.message}`);
  });
  return {
    async ask<T>(path: string) {
      const { data } = (await (await fetch(`http://${address}/api/v1/${path}`)).json()) as { data: T };
      return data;
    },
    stop: server.stop,
  };
}
