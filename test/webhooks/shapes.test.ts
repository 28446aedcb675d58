import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { defaultContractProfile } from '../../src/contracts/default-contract-profile.js';
import { openShapeNotebook, readDeliveryShapes } from '../../src/webhooks/shapes/file.js';
import { createLook, type Look } from '../../src/webhooks/shapes/look.js';
import { createShapeNotebook } from '../../src/webhooks/shapes/notebook.js';
import { account, aStand, businessId, secretId } from './ingress-stand.js';

const aFolder = () => mkdtempSync(join(tmpdir(), 'faretrail-shapes-'));
const byHeader = { mode: 'header', name: 'X-Secret' } as const;

/** A stand that keeps shapes, and what it has kept so far. */
async function aKeepingStand(options: Parameters<typeof aStand>[0] = {}) {
  const folder = aFolder();
  const stand = await aStand({ ...options, shapesIn: folder });
  return { ...stand, folder, kept: async () => (await readDeliveryShapes(folder)) ?? [] };
}

it('the ingress keeps names and types of a delivery, what matched, where the secret stood, and how often it came', async () => {
  const stand = await aKeepingStand();
  const body = JSON.stringify({ order_id: 4711, status: 'Driving', stops: [{ at: 'Elm Street 5' }], driver: null });
  for (let count = 0; count < 3; count += 1) await stand.post(body, { headers: { 'X-Proof': secretId } });
  await expect.poll(async () => (await stand.kept())[0]?.count).toBe(3);
  const [shape, ...others] = await stand.kept();
  expect(others).toEqual([]);
  expect(shape).toMatchObject({
    ...{ account, eventType: 'status_changed', outcome: 'accepted', parkReason: null },
    body: { isCut: false, fields: expect.arrayContaining([{ at: '/stops/*/at', types: ['text'] }]) },
    headers: expect.arrayContaining(['content-type', 'host', 'x-proof']),
    matched: { orderId: '/order_id', status: '/status', eventType: null, businessId: null },
    secret: { place: 'header', at: 'x-proof' },
  });
});

it('what no pointer finds is kept as the places that may hold it', async () => {
  const stand = await aKeepingStand();
  const ride = { ride_no: 'R-4711', phase: 'driving', company: businessId.toUpperCase() };
  await stand.post(JSON.stringify({ message_id: 'm-1', payload: { ride, kind: 'status_changed' } }));
  await expect.poll(stand.kept).toMatchObject([
    {
      ...{ outcome: 'parked', parkReason: 'noOrderId' },
      matched: { orderId: null, status: null },
      candidates: {
        orderId: ['/payload/ride/ride_no'],
        status: ['/payload/ride/phase'],
        eventType: ['/payload/kind'],
        businessId: ['/payload/ride/company'],
      },
    },
  ]);
});

it('refused deliveries leave their shape too, with the place of the secret that the mode did not look at', async () => {
  const stand = await aKeepingStand({ verification: byHeader });
  await stand.post(JSON.stringify({ order_id: 1, auth: { key: secretId } }));
  await stand.post('no JSON');
  await stand.post('{}', { headers: { 'content-encoding': 'gzip' } });
  await expect.poll(async () => (await stand.kept()).map(({ outcome }) => outcome).sort()).toHaveLength(3);
  const kept = new Map((await stand.kept()).map((shape) => [shape.outcome, shape]));
  expect(kept.get('wrongSecret')).toMatchObject({ secret: { place: 'body', at: '/auth/key' } });
  expect(kept.get('notJson')).toMatchObject({ body: null });
  expect(kept.get('encoded')).toMatchObject({ body: null, headers: expect.arrayContaining(['content-encoding']) });
});

it('no value, secret or part of an address reaches the file, whatever stands in names', async () => {
  const stand = await aKeepingStand();
  const mac = stand.addressOf().split('.').at(-1) ?? '';
  const values = ['Ada Lovelace', '+4915112345678', 'Elm Street 5', secretId, mac, 'tok_9f8e7d6c5b4a', '4711-0815'];
  const [name, phone, street, secret, path, token, orderId] = values;
  const nested = { passenger: { name, phone }, [String(phone)]: { street }, [secretId]: 1, [mac]: [path], token };
  const headers = { 'x-secret': String(secret), authorization: `Bearer ${token}`, [`x-${secretId}`]: '1' };
  await stand.post(JSON.stringify({ order_id: orderId, nested }), { headers });
  await stand.post(JSON.stringify({ wrong: nested, id: orderId }), { headers });
  await stand.post(`{"a":"${name}","a":"${phone}"}`, { headers });
  await expect.poll(async () => (await stand.kept()).length).toBe(3);
  const text = readFileSync(join(stand.folder, 'shapes.json'), 'utf8');
  for (const value of [...values, stand.url.slice(7)]) expect(text).not.toContain(value);
});

it('a sender without an address leaves nothing', async () => {
  const stand = await aKeepingStand();
  await stand.post('{"order_id":"1"}', { address: `${stand.addressOf().slice(0, -1)}x` });
  await stand.post('{"order_id":"1"}');
  await expect.poll(stand.kept).toMatchObject([{ count: 1 }]);
});

it('a sender who knows an address fills neither the file nor the room of genuine deliveries', async () => {
  const stand = await aKeepingStand();
  await stand.post('{"order_id":"1"}', { headers: { 'x-proof': secretId } });
  const letters = (number: number) => [...String(number)].map((digit) => 'abcdefghij'[Number(digit)]).join('');
  const long = (number: number) => letters(number).padEnd(40, 'x');
  const wide = (turn: number) => {
    const fields = Object.fromEntries(Array.from({ length: 400 }, (_, at) => [long(1_000 + at), at]));
    return Array.from({ length: 6 }).reduce<object>((inner) => ({ [long(turn)]: inner }), fields);
  };
  for (let turn = 0; turn < 30; turn += 1) await stand.post(JSON.stringify({ order_id: '1', ...wide(turn) }));
  for (let turn = 0; turn < 30; turn += 1) await stand.post(JSON.stringify({ ['n'.repeat(turn + 1)]: '1' }));
  await stand.close();
  const kept = await stand.kept();
  expect(kept.filter(({ secret }) => secret.place === 'header')).toMatchObject([{ count: 1 }]);
  const unproven = kept.filter(({ secret }) => secret.place === 'none').map(({ outcome }) => outcome);
  expect(unproven.sort()).toEqual([...Array(5).fill('accepted'), ...Array(5).fill('parked')]);
  expect(readFileSync(join(stand.folder, 'shapes.json')).length).toBeLessThan(11 * 10_000);
});

it('an ingress that starts again goes on with the shapes of the last one, and replaces a file that it cannot read', async () => {
  const first = await aKeepingStand();
  await first.post('{"order_id":"1"}');
  await first.close();
  const second = await aStand({ shapesIn: first.folder });
  await second.post('{"order_id":"2"}');
  await expect.poll(first.kept).toMatchObject([{ count: 2 }]);
  await second.close();

  writeFileSync(join(first.folder, 'shapes.json'), '{"version":1,"shapes":[{"account"');
  await expect(first.kept()).rejects.toMatchObject({ code: 'ShapesUnreadable' });
  const third = await aStand({ shapesIn: first.folder });
  await third.post('{"order_id":"3"}');
  await expect.poll(() => first.kept().catch(() => null)).toMatchObject([{ count: 1 }]);
});

/** A notebook with a clock of its own that counts its looks. */
function aNotebook() {
  const clock = { now: 0 };
  const looks: string[] = [];
  const notebook = createShapeNotebook({
    ...{ known: [], now: () => clock.now, onChange: () => undefined },
    onFailure: (error) => expect.fail(String(error)),
    subscriptions: { acceptanceOf: async () => 'unknown' },
    look({ outcome }) {
      looks.push(outcome);
      return { account, eventType: 'status_changed', outcome, secret: { place: 'unknown', at: '' } } as unknown as Look;
    },
  });
  const note = (outcome: 'accepted' | 'wrongSecret' = 'accepted') =>
    notebook.note({
      arrival: { account, eventType: 'status_changed', generation: 'g1', arrivedAt: clock.now },
      ...{ headers: {}, rawBody: Buffer.from('{}'), outcome },
    });
  return { ...notebook, note, clock, looks };
}

it('the ingress looks at twenty deliveries of a subscription and outcome, and then at one a second', async () => {
  const { note, settled, clock, looks } = aNotebook();
  for (let count = 0; count < 100; count += 1) {
    note();
    await settled();
  }
  expect(looks).toHaveLength(20);
  note('wrongSecret');
  await settled();
  expect(looks).toHaveLength(21);
  for (let second = 0; second < 10; second += 1) {
    clock.now += 1_000;
    for (let count = 0; count < 50; count += 1) note();
    await settled();
  }
  expect(looks).toHaveLength(31);
});

it('a delivery that is not looked at costs microseconds at most', () => {
  const { note } = aNotebook();
  for (let count = 0; count < 20_000; count += 1) note(); // the compiler's turn
  const since = performance.now();
  for (let count = 0; count < 100_000; count += 1) note();
  expect((performance.now() - since) / 100_000).toBeLessThan(0.005); // milliseconds, with room for a busy machine
});

it('a file that the disk refuses is told and tried again, and harms no delivery', async () => {
  const failures: unknown[] = [];
  const folder = join(aFolder(), 'gone');
  const notebook = await openShapeNotebook({
    ...{ folder, writeEveryMs: 1, onFailure: (error: unknown) => failures.push(error) },
    look: createLook(defaultContractProfile),
    subscriptions: { acceptanceOf: async () => 'unknown' },
  });
  const arrival = { account, eventType: 'status_changed' as const, generation: 'g1', arrivedAt: 0 };
  notebook.note({ arrival, headers: {}, rawBody: null, outcome: 'tooLarge' });
  await notebook.close();
  expect(failures).toHaveLength(1);
});
