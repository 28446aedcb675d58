import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createFaretrailClient, type OrderHandle } from '../../../src/client/index.js';
import { findDevServer } from '../../stack/temporal/dev-server.js';
import { runCommand } from '../../stack/temporal/run-command.js';
import { openStage, type Stage } from '../chaos/stage.js';
import { subscribe } from '../chaos/work.js';
import { until } from '../containers/until.js';
import type { Row, Wanted } from './report.js';
import { goTool, type Tool } from './tools.js';

const orders = 50;
/** Below the share of one address, and above it; see FARETRAIL_DELIVERIES_PER_SECOND. */
const steadyPerSecond = 80;
const above = { perSecond: 300, seconds: 60 };
const memoryLimitMb = 400;
const settleWithinMs = 300_000;

/** What vegeta says of an attack, times in nanoseconds. */
interface Attack {
  requests: number;
  rate: number;
  latencies: { '50th': number; '95th': number; '99th': number; max: number };
  status_codes: Record<string, number>;
  errors: string[];
}

interface Place {
  stage: Stage;
  tool: Tool;
  folder: string;
  followed: OrderHandle[];
  memoryMb: number[];
}

/** Deliveries at a steady rate, and then more than an address may send. */
export async function load({ minutes, say, onEnd }: Wanted): Promise<Row[]> {
  const tool = await goTool('vegeta', say);
  const folder = mkdtempSync(join(tmpdir(), 'faretrail-counterparts-'));
  onEnd(() => rmSync(folder, { recursive: true, force: true }));
  const stage = await openStage({
    temporalProgram: await findDevServer(say),
    tokenLifetimeSeconds: 600,
    env: { FARETRAIL_LOG_LEVEL: 'warn' },
  });
  onEnd(() => stage.close());
  await subscribe(stage);
  await stage.sandbox.setDeliverySettings({ enabled: false });
  const place: Place = { stage, tool, folder, followed: await followAll(stage), memoryMb: [] };
  say(`${orders} orders are followed`);
  const samples = setInterval(() => void memoryOf(stage).then((mb) => mb !== null && place.memoryMb.push(mb)), 1_000);
  onEnd(() => clearInterval(samples));
  const steady = await attack(place, { perSecond: steadyPerSecond, seconds: Math.round(minutes * 60) });
  say('the steady load is over');
  const flood = await attack(place, above);
  say('the flood is over');
  return [await steadyRow(place, steady), await floodRow(place, { steady, flood })];
}

async function followAll({ sandbox, client, taskQueue }: Stage): Promise<OrderHandle[]> {
  const ids = Array.from({ length: orders }, (_, i) => `loaded-${i}`);
  const script = [{ status: 'Driving', afterMs: 0 }];
  await sandbox.addOrders(ids.map((orderId) => ({ interface: 'business', orderId, script })));
  const rides = createFaretrailClient({ client, taskQueue });
  return await Promise.all(ids.map((orderId) => rides.follow({ account: 'business', orderId })));
}

let sent = 0;

/** Each delivery differs from all others. */
async function attack(
  { stage, tool, folder }: Place,
  { perSecond, seconds }: { perSecond: number; seconds: number },
): Promise<Attack> {
  const [subscriber] = await stage.sandbox.subscribers();
  const header = { 'Content-Type': ['application/json'], 'X-Subscriber-Secret': [subscriber?.secretId] };
  const targets = Array.from({ length: perSecond * seconds }, () => {
    sent += 1;
    const content = {
      event_type: 'status_changed',
      order_id: `loaded-${sent % orders}`,
      status: 'Driving',
      sequence: sent,
    };
    const body = Buffer.from(JSON.stringify(content)).toString('base64');
    return JSON.stringify({ method: 'POST', url: subscriber?.hookAddress, header, body });
  });
  const [file, results] = [join(folder, 'targets.json'), join(folder, 'results.bin')];
  writeFileSync(file, targets.map((target) => `${target}\n`).join(''));
  const run = (...args: string[]) =>
    runCommand(tool.program, args, { cwd: folder, timeLimitMs: seconds * 1_000 + 60_000 });
  const rate = [`-rate=${perSecond}`, `-duration=${seconds}s`, '-timeout=30s', '-max-workers=200'];
  await run('attack', '-format=json', '-lazy', `-targets=${file}`, ...rate, `-output=${results}`);
  return JSON.parse(await run('report', '-type=json', results)) as Attack;
}

async function memoryOf(stage: Stage): Promise<number | null> {
  const [, bytes] = /^process_resident_memory_bytes (\S+)$/m.exec((await stage.metrics('ingress')) ?? '') ?? [];
  return bytes === undefined ? null : Number(bytes) / 1_048_576;
}

const inMs = (nanoseconds: number): string => `${(nanoseconds / 1e6).toFixed(1)} ms`;
const codesOf = ({ status_codes: codes }: Attack): string =>
  Object.entries(codes)
    .map(([code, count]) => `${code}: ${count}`)
    .join(', ');

function toRow({ tool }: Place, attacked: Attack, right: readonly string[]): Row {
  const { rate, latencies, status_codes: codes, errors } = attacked;
  const others = Object.keys(codes).filter((code) => !right.includes(code));
  const failures = errors.filter((error) => !right.some((code) => error.startsWith(`${code} `)));
  return {
    tool: tool.name,
    version: tool.version,
    tried: `${Math.round(rate)} deliveries/s at one address, ${attacked.requests} in all`,
    came: `${codesOf(attacked)}; p50 ${inMs(latencies['50th'])}, p95 ${inMs(latencies['95th'])}, p99 ${inMs(latencies['99th'])}, most ${inMs(latencies.max)}`,
    wrong: [
      ...others.map((code) => `${codes[code]} answers with ${code}`),
      ...(failures.length > 0 ? [`errors: ${failures.slice(0, 5).join('; ')}`] : []),
    ],
  };
}

const steadyRow = async (place: Place, steady: Attack): Promise<Row> => toRow(place, steady, ['202']);

/** Also judges both attacks together: every acknowledged delivery reaches its order, and memory stays bounded. */
async function floodRow(place: Place, { steady, flood }: { steady: Attack; flood: Attack }): Promise<Row> {
  const row = toRow(place, flood, ['202', '429']);
  const acknowledged = (steady.status_codes['202'] ?? 0) + (flood.status_codes['202'] ?? 0);
  const since = Date.now();
  let arrived = 0;
  const hasArrived = async () => {
    const trails = await Promise.all(place.followed.map((order) => order.trail()));
    arrived = trails.reduce((sum, { deliveries }) => sum + deliveries.received, 0);
    return arrived >= acknowledged;
  };
  await until('', hasArrived, settleWithinMs).catch(() => undefined);
  await sleep(2_000);
  await hasArrived();
  const peak = Math.max(...place.memoryMb);
  const settled = Math.round((Date.now() - since) / 1_000);
  return {
    ...row,
    came: `${row.came}; of ${acknowledged} acknowledged ones ${arrived} in their orders, the last ${settled} s later; memory of the ingress at most ${Math.round(peak)} MB`,
    wrong: [
      ...row.wrong,
      ...(arrived === acknowledged ? [] : [`${acknowledged} were acknowledged, and ${arrived} arrived`]),
      ...((flood.status_codes['429'] ?? 0) > 0 ? [] : ['an address may send as much as it likes']),
      ...(peak > memoryLimitMb ? [`the ingress took ${Math.round(peak)} MB`] : []),
    ],
  };
}
