import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { cutOff } from '../../../dev/faults/chaos/disk.js';
import { isLong } from '../../support/long.js';
import { createRandom } from '../../support/random.js';
import { aDelivery, aFolder, aJournal, contentOf } from './folders.js';

const random = createRandom();

const kills = isLong ? 100 : 20;
const maxBytes = 2 ** 30;
let code: string;

/** Bundles the sources as they are now, so that no test meets an outdated build. */
beforeAll(async () => {
  const input = fileURLToPath(new URL('./child.ts', import.meta.url));
  const build = await rolldown({ input, platform: 'node', external: (id) => !/^[./]/.test(id) });
  code = (await build.generate({ format: 'esm' })).output[0].code;
});

/** A process that appends to a journal until it is killed. `wrapper` is a command that runs the one behind it. */
function startChild(env: { JOURNAL_FOLDER: string; JOURNAL_DRAIN?: string }, wrapper: string[] = []) {
  const [program = '', ...words] = [...wrapper, process.execPath, '--input-type=module', '-e', code];
  const child = spawn(program, words, {
    cwd: fileURLToPath(new URL('../../..', import.meta.url)), // Node looks for packages from here
    env: { ...env, PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const closed = once(child, 'close'); // by then all of its output was read
  const kill = async () => {
    child.kill('SIGKILL');
    await closed;
  };
  onTestFinished(kill);
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  /** Its finished lines that begin with this word. */
  const lines = (word = '') =>
    output
      .split('\n')
      .slice(0, -1)
      .filter((line) => line.startsWith(word));
  return { pid: child.pid, lines, kill };
}

it('a journal holds every acknowledged delivery after kills with -9 at random instants', async () => {
  const folder = await aFolder();
  const acknowledged: string[] = [];
  for (let round = 0; round < kills; round += 1) {
    // Each start meets the lock and the files that a killed process has left.
    const child = startChild({ JOURNAL_FOLDER: folder });
    await expect.poll(() => child.lines().length, { interval: 5 }).toBeGreaterThan(0);
    await sleep(100 * random());
    await child.kill();
    acknowledged.push(...child.lines().map((line) => line.replace('kept ', '')));
  }
  const journal = await aJournal({ folder, maxBytes });
  const kept = new Set<string>();
  for (let keys = journal.keysAfter(0, 100); keys.length > 0; keys = journal.keysAfter(0, 100)) {
    for (const { delivery } of journal.read(keys)) kept.add(delivery?.deliveryId ?? 'none');
    await journal.remove(keys);
  }
  expect(acknowledged.length).toBeGreaterThan(kills * 16);
  expect(acknowledged.filter((id) => !kept.has(id))).toEqual([]);
  expect(journal.depth()).toBe(0);
}, 180_000);

// A bound on the size of files stands for a full disk: the system refuses the same write, and allows it again while the
// process runs. Only Linux can do that.
const hasPrlimit = spawnSync('prlimit', ['--version']).status === 0;
const boundedTo = (kilobytes: number) => ['bash', '-c', `trap '' XFSZ; ulimit -S -f ${kilobytes}; exec "$@"`, '-'];
const bounded = boundedTo(8_192);
const patience = { timeout: 180_000 };

describe.skipIf(!hasPrlimit)('a disk without room', () => {
  it('a journal on a full disk refuses, says why, and takes deliveries again by itself once there is room', async () => {
    const folder = await aFolder();
    const child = startChild({ JOURNAL_FOLDER: folder }, bounded);
    const refused = () => child.lines('refused JournalUnwritable; ');
    await expect.poll(() => refused().length, patience).toBeGreaterThan(16);
    expect(refused().at(-1)).toContain('EFBIG');

    const before = child.lines('kept ').length;
    spawnSync('prlimit', ['--pid', `${child.pid}`, '--fsize=unlimited']);
    await expect.poll(() => child.lines('kept ').length, patience).toBeGreaterThan(before + 1_000);
    await child.kill();

    const kept = new Set(contentOf(await aJournal({ folder, maxBytes })).map(({ deliveryId }) => `kept ${deliveryId}`));
    const first = child.lines('kept ').slice(0, 2_000);
    expect(first.filter((line) => !kept.has(line))).toEqual([]);
  }, 150_000);

  it('a journal on a full disk still lets go of what was forwarded, and takes as much again', async () => {
    const child = startChild({ JOURNAL_FOLDER: await aFolder(), JOURNAL_DRAIN: 'true' }, bounded);
    await expect.poll(() => child.lines('removed ').length, patience).toBeGreaterThan(16);
    const before = child.lines('kept ').length;
    await expect.poll(() => child.lines('kept ').length, patience).toBeGreaterThan(before + 1_000);
  }, 150_000);

  it('a journal whose file has no free page lets go of nothing on a full disk, and of all once there is room', async () => {
    const folder = await aFolder();
    const journal = await aJournal({ folder, maxBytes });
    await Promise.all(Array.from({ length: 3_000 }, () => journal.append(aDelivery())));
    await journal.close();
    const child = startChild({ JOURNAL_FOLDER: folder, JOURNAL_DRAIN: 'first' }, boundedTo(cutOff(folder) / 1_024));
    await expect.poll(() => child.lines('unmoved ').length, patience).toBeGreaterThan(16);
    // Its own words, since LMDB damages the process when it meets the end of the disk.
    expect(new Set(child.lines('unmoved '))).toEqual(new Set(['unmoved the journal cannot be written: EFBIG']));
    spawnSync('prlimit', ['--pid', `${child.pid}`, '--fsize=unlimited']);
    await expect.poll(() => child.lines('removed ').length, patience).toBe(1);
    await expect.poll(() => child.lines('kept ').length, patience).toBeGreaterThan(1_000);
  }, 150_000);
});
