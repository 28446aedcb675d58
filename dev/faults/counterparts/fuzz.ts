import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { answersAt } from '../../stack/run/until.js';
import { findDevServer } from '../../stack/temporal/dev-server.js';
import { freePort } from '../../stack/temporal/free-port.js';
import { projectRoot } from '../../stack/temporal/project-root.js';
import { runCommand } from '../../stack/temporal/run-command.js';
import { startServerProcess } from '../../stack/temporal/server-process.js';
import { openStage, type Stage } from '../chaos/stage.js';
import { subscribe } from '../chaos/work.js';
import type { Row, Wanted } from './report.js';
import { debianTool, pythonTool, type Tool } from './tools.js';

/** One of our doors, with a request that it accepts. */
interface Door {
  name: string;
  /** Its document in docs/schema, and what a stranger could not guess of its addresses. */
  contract: { document: string; parameters: Record<string, string> };
  url: string;
  path: string;
  headers: Record<string, string>;
  body: string;
  rightStatus: number;
  /** How it is with the process behind it; undefined while it is well. */
  whatIsWrong(): string | undefined;
}

/** Mutations of each piece of a request, by minute of the part. */
const casesPerMinute = 10;
const slowConnections = 400;
const probeEveryMs = 500;
const probeLimitMs = 5_000;

/** Requests that the contract allows or forbids, raw bytes and slow senders at the ingress and the codec endpoint, by programs that know neither. */
export async function fuzz({ minutes, say, onEnd }: Wanted): Promise<Row[]> {
  const boofuzz = await pythonTool('boofuzz', 'dev/faults/counterparts/programs/python', 'fuzz.py', say);
  const schemathesis = await pythonTool('schemathesis', 'dev/faults/counterparts/programs/python', null, say);
  const slow = await debianTool('slowhttptest', '1.8.2-1+b1', say);
  const folder = mkdtempSync(join(tmpdir(), 'faretrail-counterparts-'));
  onEnd(() => rmSync(folder, { recursive: true, force: true }));
  const stage = await openStage({ temporalProgram: await findDevServer(say), tokenLifetimeSeconds: 600 });
  onEnd(() => stage.close());
  const doors = [await ingressDoor(stage), await codecDoor(onEnd)];
  const rows: Row[] = [];
  for (const door of doors) {
    say(`${door.name}: schemathesis, boofuzz`);
    rows.push(await watched(door, () => callByContract(schemathesis, door, folder)));
    rows.push(await watched(door, () => mutate(boofuzz, door, { folder, cases: Math.ceil(minutes * casesPerMinute) })));
    for (const mode of Object.keys(slowModes) as SlowMode[]) {
      say(`${door.name}: ${slowModes[mode].what}`);
      rows.push(await watched(door, () => slowDown(slow, door, { folder, mode })));
    }
  }
  return rows;
}

async function ingressDoor(stage: Stage): Promise<Door> {
  // Before the subscription: after a first signed delivery the ingress would refuse each body that the fuzzer changes.
  await stage.sandbox.addOrder({ interface: 'business', orderId: '1', script: [{ status: 'Driving', afterMs: 0 }] });
  await subscribe(stage);
  const [subscriber] = await stage.sandbox.subscribers();
  const url = subscriber?.hookAddress ?? '';
  const [, , account = '', eventType = '', capability = ''] = new URL(url).pathname.split('/');
  return {
    name: 'ingress',
    contract: { document: 'openapi-ingress', parameters: { account, eventType, capability } },
    url,
    path: new URL(url).pathname,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ event_type: 'status_changed', message: '{"order_id":1,"status":"Driving"}' }),
    rightStatus: 202,
    whatIsWrong: () => (stage.members.ingress.ownEnds().length > 0 ? 'the ingress ended by itself' : undefined),
  };
}

/** Without a token, so that strangers get as far as they can. */
async function codecDoor(onEnd: Wanted['onEnd']): Promise<Door> {
  const port = String(await freePort());
  const env = {
    ...{ PATH: process.env.PATH, HOME: process.env.HOME, FARETRAIL_CODEC_PORT: port },
    FARETRAIL_PAYLOAD_KEYS: `k1:${randomBytes(32).toString('base64url')}`,
  };
  const starter = join(projectRoot, 'dist/src/starter.js');
  const base = `http://127.0.0.1:${port}`;
  const isUp = () => answersAt(`${base}/healthz`);
  const server = await startServerProcess(process.execPath, [starter, 'codec'], { env, isUp });
  onEnd(() => server.stop());
  return {
    name: 'codec endpoint',
    contract: { document: 'openapi-codec', parameters: {} },
    url: `${base}/encode`,
    path: '/encode',
    headers: { 'Content-Type': 'application/json' },
    body: '{"payloads":[{"metadata":{"encoding":"anNvbi9wbGFpbg=="},"data":"e30="}]}',
    rightStatus: 200,
    whatIsWrong: () => (server.hasEnded() ? `the codec endpoint ended: ${server.logTail()}` : undefined),
  };
}

/** Lets somebody else use the door meanwhile, who must always get an answer. */
async function watched(door: Door, act: () => Promise<Row>): Promise<Row> {
  const { url, headers, body, rightStatus } = door;
  const waits: number[] = [];
  const wrong = new Set<string>();
  let isOver = false;
  const watch = async (): Promise<void> => {
    while (!isOver) {
      const since = performance.now();
      const request = { method: 'POST', headers, body, signal: AbortSignal.timeout(probeLimitMs) };
      const status = await fetch(url, request).then(
        ({ status }) => status,
        (error: Error) => error.message,
      );
      waits.push(performance.now() - since);
      if (status !== rightStatus) wrong.add(`another caller got ${status}`);
      await sleep(probeEveryMs);
    }
  };
  const watching = watch();
  const row = await act();
  isOver = true;
  await watching;
  const ended = door.whatIsWrong();
  return {
    ...row,
    came: `${row.came}; another caller waited at most ${Math.round(Math.max(...waits))} ms`,
    wrong: [...row.wrong, ...wrong, ...(ended ? [ended] : [])],
  };
}

const contractChecks = [
  ...['not_a_server_error', 'status_code_conformance', 'content_type_conformance'],
  ...['response_headers_conformance', 'response_schema_conformance'],
];
const contractExamples = 300;

/** Every answer must be one that the published document names. */
async function callByContract(tool: Tool, door: Door, folder: string): Promise<Row> {
  const { document, parameters } = door.contract;
  const fixed = Object.entries(parameters).map(([name, value]) => `"path.${name}" = ${JSON.stringify(value)}`);
  const settings = join(folder, 'schemathesis.toml');
  writeFileSync(settings, ['[parameters]', ...fixed, ''].join('\n'));
  const report = join(folder, `${document}.json`);
  const options = [
    ...['--url', new URL(door.url).origin, '--checks', contractChecks.join(','), '--seed', '1'],
    ...['--max-examples', String(contractExamples), '--phases', 'examples,coverage,fuzzing', '--no-color'],
    ...['--report', 'json', '--report-json-path', report, '--continue-on-failure'],
  ];
  const args = ['--config-file', settings, 'run', join(projectRoot, `docs/schema/${document}.json`), ...options];
  const cli = join(dirname(tool.program), 'schemathesis');
  const child = spawn(cli, args, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
  const [said] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  const { complete, test_cases, operations, failures, errors } = JSON.parse(readFileSync(report, 'utf8')) as Contract;
  return {
    tool: tool.name,
    version: tool.version,
    tried: `${door.name}: ${test_cases.generated} requests made from ${document}`,
    came: `answers of ${operations.tested} operations as the document says`,
    wrong: [
      ...(complete && errors.length === 0 ? [] : [`it did not come to its end: ${said.slice(-500)}`]),
      ...failures.map(({ title, operations: at }) => `${title}: ${at.join(', ')}`),
    ],
  };
}

/** What is read of schemathesis' report. */
interface Contract {
  complete: boolean;
  test_cases: { generated: number };
  operations: { tested: number };
  failures: { title: string; operations: string[] }[];
  errors: unknown[];
}

async function mutate(tool: Tool, door: Door, { folder, cases }: { folder: string; cases: number }): Promise<Row> {
  const { url, path, headers, body } = door;
  const child = spawn(tool.program, [...tool.args], { cwd: folder, stdio: ['pipe', 'pipe', 'inherit'] });
  const place = mkdtempSync(join(folder, 'boofuzz-'));
  child.stdin.end(JSON.stringify({ port: Number(new URL(url).port), path, headers, body, cases, folder: place }));
  const [said, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  if (code !== 0) throw new Error(`boofuzz ended with ${code}`);
  const told = JSON.parse(said) as { cases: number; answers: Record<string, number>; failures: string[] };
  const answers = Object.entries(told.answers).map(([answer, count]) => `${answer}: ${count}`);
  return {
    tool: tool.name,
    version: tool.version,
    tried: `${door.name}: ${told.cases} requests with one piece of them mutated`,
    came: answers.sort().join(', '),
    wrong: told.failures,
  };
}

/** How long each goes on: longer than what ends it, a deadline of the request or the time for which an idle connection stays. */
const slowModes = {
  '-H': { what: 'slow headers', seconds: 40 },
  '-B': { what: 'slow body', seconds: 45 },
  '-X': { what: 'slow read', seconds: 90 },
} as const;
type SlowMode = keyof typeof slowModes;

async function slowDown(tool: Tool, door: Door, { folder, mode }: { folder: string; mode: SlowMode }): Promise<Row> {
  const prefix = join(folder, `slow-${door.name.replace(' ', '-')}${mode}`);
  const { what, seconds } = slowModes[mode];
  const target = ['-u', door.url, '-f', 'application/json', ...(mode === '-H' ? [] : ['-t', 'POST'])];
  const pace = ['-c', String(slowConnections), '-r', '200', '-i', '3', '-l', String(seconds), '-p', '3'];
  const args = [mode, '-g', '-o', prefix, ...target, ...pace];
  const said = await runCommand(tool.program, args, { cwd: folder, timeLimitMs: (seconds + 60) * 1_000 });
  const samples = readFileSync(`${prefix}.csv`, 'utf8').trim().split('\n').slice(1);
  const rows = samples.map((line) => line.split(',').map(Number));
  const most = Math.max(...rows.map(([, , , connected = 0]) => connected));
  const away = rows.filter(([, , , connected = 0, available]) => connected > 0 && available === 0).length;
  const isOver = said.includes('No open connections left');
  return {
    tool: tool.name,
    version: tool.version,
    tried: `${door.name}: ${slowConnections} connections, ${what}`,
    came: `at most ${most} open, ${isOver ? `none after ${rows.at(-1)?.[0]} s` : `some after ${seconds} s`}`,
    wrong: [
      ...(isOver ? [] : [`slow connections are still open after ${seconds} s`]),
      ...(away > 0 ? [`it did not answer slowhttptest's own probe in ${away} of ${rows.length} seconds`] : []),
    ],
  };
}
