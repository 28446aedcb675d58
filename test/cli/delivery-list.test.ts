import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openTally } from '../../src/webhooks/tally/file.js';
import { nowhere, runHere } from './fake-process.js';

const aFolder = () => mkdtempSync(join(tmpdir(), 'faretrail-tally-'));
const list = (folder: string, ...more: string[]) =>
  runHere(['delivery', 'list', '--since', '24h', ...more], { ...nowhere, FARETRAIL_JOURNAL_DIR: folder });

/** The folder of an ingress that has refused and seen this, at this time. */
async function aTallyOf(lines: readonly [at: string, outcome: string, count: number, orderId?: string][]) {
  const folder = aFolder();
  let at = 0;
  const tally = await openTally({ folder, onFailure: expect.unreachable, now: () => at });
  for (const [time, outcome, count, orderId] of lines) {
    at = Date.parse(time);
    const isOurs = outcome !== 'notFound';
    tally.add({
      ...{ account: isOurs ? 'business' : '', eventType: isOurs ? 'status_changed' : '', outcome, count },
      ...(orderId === undefined ? {} : { orderId }),
    });
  }
  await tally.close();
  return folder;
}

const ago = (minutes: number): string => new Date(Date.now() - minutes * 60_000).toISOString();

it('shows what was refused and what came late since then, the newest first, without Temporal where it asks for one', async () => {
  const folder = await aTallyOf([
    [ago(3_000), 'ended', 7],
    [ago(30), 'ended', 4_000],
    [ago(20), 'notFound', 12],
    [ago(10), 'wrongSecret', 1],
    [ago(5), 'late', 2, '7b21'],
  ]);
  const refused = await list(folder, '--outcome', 'refused', '--json');
  expect(refused.exitCode).toBe(0);
  const told = JSON.parse(refused.stdout);
  expect(told).toMatchObject({ hasMore: false, warnings: [] });
  expect(told.deliveries.map((one: { reason: string; count: number }) => [one.reason, one.count])).toEqual([
    ['wrongSecret', 1],
    ['notFound', 12],
    ['ended', 4_000],
  ]);
  const { stdout } = await list(folder, '--outcome', 'refused');
  expect(stdout).toMatch(/business +status_changed +refused +its secret is not that of the subscript… +1 +- +-\n/);
  expect(stdout).toMatch(/ - +- +refused +notFound +12 /);
  expect((await list(folder, '--outcome', 'late')).stdout).toMatch(/business +status_changed +late +- +2 +7b21 +-\n/);
  expect((await list(folder, '--outcome', 'late', '--account', 'partner')).stdout).toBe('No delivery fits.\n');
  const some = await list(folder, '--outcome', 'refused', '--limit', '1');
  expect(some).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('There are more than 1') });
  expect(some.stdout).not.toContain('notFound');
  expect(await list(folder), 'parked ones are in Temporal').toMatchObject({ exitCode: 1, stdout: '' });
});

it('says where nothing is kept, or cannot be', async () => {
  const none = await list(join(aFolder(), 'none'), '--outcome', 'late');
  expect(none).toMatchObject({
    exitCode: 0,
    stderr: expect.stringContaining('no ingress has kept any in this folder'),
  });
  const off = await list('off', '--outcome', 'late', '--json');
  const warnings = [expect.stringContaining('FARETRAIL_JOURNAL_DIR: off, so the ingress keeps none')];
  expect(JSON.parse(off.stdout)).toMatchObject({ deliveries: [], warnings });
});

it('a file that no ingress has written is refused, and none of it is shown', async () => {
  const folder = aFolder();
  writeFileSync(join(folder, 'tally.json'), '{"version":1,"lines":[{"account":"\\u001b[31mred"}]}');
  const { exitCode, stdout, stderr } = await list(folder, '--outcome', 'late');
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
  expect(stderr).toMatch(/^error: FARETRAIL_JOURNAL_DIR: tally\.json in it cannot be read/);
  expect(stderr).not.toContain('red');
});
