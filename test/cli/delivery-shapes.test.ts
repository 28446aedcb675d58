import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { defaultContractProfile, parseContractProfile } from '../../src/contracts/default-contract-profile.js';
import { createDeliveryReader } from '../../src/contracts/delivery-body.js';
import type { DeliveryShape } from '../../src/contracts/delivery-shape.js';
import { readDeliveryShapes } from '../../src/webhooks/shapes/file.js';
import { aStand, secretId } from '../webhooks/ingress-stand.js';
import { nowhere, runHere } from './fake-process.js';

const aFolder = () => mkdtempSync(join(tmpdir(), 'faretrail-shapes-'));

interface Shown {
  shapes: DeliveryShape[];
  proposal: { profile: object | null; undecided: string[] };
}

/** What the command shows of an ingress that has taken these deliveries, each with its headers, and that still runs. */
async function shownAfter(deliveries: readonly [body: object, headers?: Record<string, string>][], env = {}) {
  const folder = aFolder();
  const stand = await aStand({ shapesIn: folder });
  for (const [body, headers = {}] of deliveries) await stand.post(JSON.stringify(body), { headers });
  const seen = async () => (await readDeliveryShapes(folder))?.reduce((sum, { count }) => sum + count, 0);
  await expect.poll(seen).toBe(deliveries.length);
  const settings = { ...nowhere, FARETRAIL_JOURNAL_DIR: folder, ...env };
  const run = (...more: string[]) => runHere(['delivery', 'shapes', ...more], settings);
  const { stdout } = await run('--json');
  return { ...(JSON.parse(stdout) as Shown), text: (await run()).stdout, run };
}

const other = { data: { ride: { rideNumber: 'R-4711', phase: 'Driving' } }, note: 'call Ada Lovelace, +4915112345678' };

it('shows what came and proposes the profile that reads it, with the mode for the secret', async () => {
  const { proposal, text } = await shownAfter([
    [other, { 'X-Ride-Token': secretId }],
    [other, { 'X-Ride-Token': secretId }],
  ]);
  expect(text).toMatch(/business +status_changed +parked: noOrderId +- +- +header x-ride-token +2 +20\d\d-/);
  expect(text).toContain('/data/ride/rideNumber: text');
  expect(text).toContain('may be   order id at /data/ride/rideNumber; status at /data/ride/phase');
  expect(text).toContain('faretrail doctor --contract FILE');
  for (const value of [secretId, 'R-4711', 'Ada', '4915112345678']) expect(text).not.toContain(value);

  const profile = parseContractProfile(proposal.profile);
  expect(profile.delivery.verification).toEqual({ mode: 'header', name: 'x-ride-token' });
  const read = createDeliveryReader(profile.pointers.delivery, profile.statuses.notOrderStatus);
  expect(read(other)).toMatchObject({ orderId: 'R-4711', status: 'Driving' });
  expect(read({ order_id: 7 })).toMatchObject({ orderId: '7' }); // what was right stays
  expect(proposal.undecided).toEqual([]);
});

it('proposes nothing where the profile fits, also when it was repaired after the delivery', async () => {
  const fits = { order_id: '4711', status: 'Driving', event_type: 'status_changed' };
  expect(await shownAfter([[fits]])).toMatchObject({ proposal: { profile: null, undecided: [] } });

  const file = join(aFolder(), 'profile.json');
  const delivery = { orderId: ['/data/ride/rideNumber'], status: ['/data/ride/phase'] };
  writeFileSync(file, JSON.stringify({ pointers: { delivery } }));
  const { proposal, text } = await shownAfter([[other]], { FARETRAIL_CONTRACT_FILE: file });
  expect(proposal.profile).toBeNull();
  expect(text).toContain('The contract profile fits.');
});

it('believes deliveries with the right secret rather than those of a sender who only knows the address', async () => {
  const { proposal } = await shownAfter([
    [{ evil: { order_id: '666' } }],
    [other, { authorization: secretId }],
    [{ worse: { order_id: '666' } }],
  ]);
  const { orderId } = defaultContractProfile.pointers.delivery;
  expect(proposal.profile).toMatchObject({
    pointers: { delivery: { orderId: [...orderId, '/data/ride/rideNumber'] } },
    delivery: { verification: { mode: 'header', name: 'authorization' } },
  });
  expect(proposal.undecided).toEqual([
    expect.stringContaining('delivery.verification: some deliveries held no secret'),
  ]);
});

it('proposes no pointers for test deliveries and reports, which need not name an order', async () => {
  const test = { event_type: 'test.status_changed', id: 'test-4711' };
  expect(await shownAfter([[test]])).toMatchObject({ shapes: [{ outcome: 'test' }], proposal: { profile: null } });
});

it('leaves to a person what several places fit, or none', async () => {
  const { proposal } = await shownAfter([[{ ride_id: 'A1', trip_id: 'B2' }], [{ content: 'nothing' }]]);
  expect(proposal.profile).toMatchObject({ pointers: { delivery: { orderId: expect.arrayContaining(['/ride_id']) } } });
  expect(proposal.undecided).toEqual([
    expect.stringMatching(/^pointers\.delivery\.orderId: \/trip_id may be the place as well/),
    expect.stringMatching(/^pointers\.delivery\.orderId: some deliveries have no place/),
  ]);
});

it('shows one account alone, and says where nothing is kept, or cannot be', async () => {
  const { run } = await shownAfter([[other]]);
  expect((await run('--account', 'business')).stdout).toContain('rideNumber');
  expect((await run('--account', 'partner')).stdout).toBe('No shape of a delivery is kept.\n');

  const none = await runHere(['delivery', 'shapes'], { ...nowhere, FARETRAIL_JOURNAL_DIR: join(aFolder(), 'none') });
  expect(none).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('no ingress has kept a shape') });
  const off = await runHere(['delivery', 'shapes'], { ...nowhere, FARETRAIL_JOURNAL_DIR: 'off' });
  expect(off).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('FARETRAIL_JOURNAL_DIR: off') });
});

it('a file that no ingress has written is refused, and none of it is shown', async () => {
  const folder = aFolder();
  writeFileSync(join(folder, 'shapes.json'), '{"version":1,"shapes":[{"account":"\\u001b[31mred"}]}');
  const { exitCode, stdout, stderr } = await runHere(['delivery', 'shapes'], {
    ...nowhere,
    FARETRAIL_JOURNAL_DIR: folder,
  });
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
  expect(stderr).toMatch(/^error: FARETRAIL_JOURNAL_DIR: shapes\.json in it cannot be read/);
  expect(stderr).not.toContain('red');
});
