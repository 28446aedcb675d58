import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { expect, inject, it, onTestFinished } from 'vitest';
import { type DevServer, type DevServerOptions, startDevServer } from '../../../../dev/stack/temporal/dev-server.js';
import { projectRoot } from '../../../../dev/stack/temporal/project-root.js';

const folder = mkdtempSync(join(tmpdir(), 'faretrail-dev-server-'));

async function start(name: string, extra: Partial<DevServerOptions> = {}): Promise<DevServer> {
  const databaseFile = join(folder, name, 'temporal.db');
  const server = await startDevServer({ program: inject('temporalProgram'), databaseFile, ...extra });
  onTestFinished(() => server.kill());
  return server;
}

async function withClient<T>(server: DevServer, use: (client: Client) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address: server.address });
  return use(new Client({ connection })).finally(() => connection.close());
}

const isRunning = (pid: number): boolean =>
  execFileSync('ps', ['-A', '-o', 'pid=,stat='])
    .toString()
    .split('\n')
    .some((line) => Number.parseInt(line, 10) === pid && !line.includes('Z'));

it('a server knows our search attributes from its start, shows its UI, and ends when it is told to stop, though traces are to be exported', async () => {
  process.env.OTEL_TRACES_EXPORTER = 'otlp'; // with no collector there
  onTestFinished(() => void delete process.env.OTEL_TRACES_EXPORTER);
  const server = await start('ui', { uiPort: 0 });
  const count = await withClient(server, (client) => client.workflow.count('RideStatus = "Driving"'));
  expect(count.count).toBe(0);
  expect((await fetch(server.uiUrl ?? '')).status).toBe(200);
  await server.stop();
  expect(isRunning(server.pid)).toBe(false);
});

it('a server ends when the process that started it is killed', async () => {
  const script = `
    import { startDevServer } from './dist/dev/stack/temporal/dev-server.js';
    const [program, databaseFile] = process.argv.slice(1);
    console.log((await startDevServer({ program, databaseFile })).pid);
    setInterval(() => {}, 1000);`;
  const args = ['--input-type=module', '-e', script, inject('temporalProgram'), join(folder, 'orphan.db')];
  const parent = spawn(process.execPath, args, { cwd: projectRoot, stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(parent.stdout, 'data');
  const pid = Number(line);
  expect(isRunning(pid)).toBe(true);
  parent.kill('SIGKILL');
  await expect.poll(() => isRunning(pid)).toBe(false);
});
