import { describe, expect, inject, it, vi } from 'vitest';
import type { OrderChange } from '../../src/domain/order/trail.js';
import { runHere } from '../cli/fake-process.js';
import { shows, startFollowing } from '../support/order/stack.js';
import { patient } from '../support/patience.js';
import { useStoreStack } from '../support/store/stack.js';

const { postgres, opened, stack } = useStoreStack();

interface Row {
  change: number;
  type: string;
  status: string;
}

const changesOf = async (orderId: string): Promise<[change: number, type: string, status: string][]> =>
  (
    await postgres.rows<Row>(
      'select change, type, status from faretrail.order_changes where order_id = $1 order by position',
      [orderId],
    )
  ).map(({ change, type, status }) => [change, type, status]);

const rideRows = [
  [1, 'order.changed', 'Pending'],
  [2, 'order.changed', 'Routing'],
  [3, 'order.changed', 'Driving'],
  [4, 'order.ended', 'Completed'],
];

/** An order that is Pending, and then what `change` makes of it. */
async function follow(reference?: string) {
  const orderId = stack.newOrder('business', [['Pending', 0]]);
  const run = await startFollowing(stack, { account: 'business', orderId, ...(reference ? { reference } : {}) });
  await shows(run, { status: 'Pending' });
  const change = async (...words: string[]): Promise<void> => {
    for (const word of words) {
      stack.sandbox.setStatus('business', orderId, word);
      await shows(run, { status: word });
    }
  };
  return { orderId, run, change };
}

describe('the store', () => {
  it('has a row for each change of an order', async () => {
    const { orderId, run, change } = await follow('PO-1');
    await change('Routing', 'Driving', 'Completed');
    await run.result();
    await vi.waitFor(async () => expect(await changesOf(orderId)).toEqual(rideRows), patient);
    expect(await postgres.rows('select * from faretrail.orders where order_id = $1', [orderId])).toMatchObject([
      { account: 'business', reference: 'PO-1', status: 'Completed', outcome: 'completed', terminal: true, changes: 4 },
    ]);
  });

  it.each([
    ['is away', () => postgres.stop(), () => postgres.start()],
    ['hangs', async () => postgres.pause(), async () => postgres.resume()],
  ])('that %s holds no order up, and gets each change once when it is back', async (_, lose, regain) => {
    const { orderId, run, change } = await follow();
    await vi.waitFor(async () => expect(await changesOf(orderId)).toHaveLength(1), patient);
    await lose();
    await change('Routing', 'Driving', 'Completed');
    expect(await run.result(), 'before the store is back').toMatchObject({ outcome: 'completed' });
    await regain();
    await vi.waitFor(async () => expect(await changesOf(orderId)).toEqual(rideRows), patient);
  });

  it('is examined by the doctor, without its password', async () => {
    const env = { TEMPORAL_ADDRESS: inject('temporalAddress'), FARETRAIL_STORE_URL: postgres.url };
    const told = JSON.parse((await runHere(['doctor', '--json'], env)).stdout);
    expect(told.checks).toContainEqual({
      ...{ name: 'store', result: 'ok' },
      message: `PostgreSQL at 127.0.0.1:${postgres.port} takes changes, in clear`,
    });
    const wrong = { ...env, FARETRAIL_STORE_URL: postgres.url.replace(postgres.password, 'a-wrong-secret') };
    const { stdout } = await runHere(['doctor', '--json'], wrong);
    expect(JSON.parse(stdout).checks).toContainEqual(expect.objectContaining({ name: 'store', result: 'failed' }));
    expect(stdout).not.toContain('a-wrong-secret');
  });

  it('forgets an order that is erased, also after Temporal has forgotten it', async () => {
    const env = { TEMPORAL_ADDRESS: inject('temporalAddress'), FARETRAIL_STORE_URL: postgres.url };
    const orderId = 'forgotten-by-temporal';
    const change = { ...{ account: 'business', orderId, status: 'Completed' }, since: new Date().toISOString() };
    for (const n of [1, 2])
      await opened.store.record({
        ...{ run: 'run', notice: n, at: change.since, type: 'order.changed' },
        change: { ...change, terminal: true, rawStatus: `odd \0 \ud800 ${n}` } as OrderChange,
      });
    const erase = () => runHere(['erase', 'business', orderId, '--yes', '--json'], env);
    expect(JSON.parse((await erase()).stdout)).toMatchObject({ erased: [], storedRows: 2 });
    expect(await changesOf(orderId)).toEqual([]);
    expect(await erase()).toMatchObject({ exitCode: 3 });
  });

  it('takes the others of a batch where one can never be written', async () => {
    const change = { account: 'business', orderId: 'batch', since: new Date().toISOString(), terminal: false };
    const record = (n: number, more: object = {}) =>
      opened.store.record({
        ...{ run: 'batch', notice: n, at: change.since, type: 'order.changed' },
        change: { ...change, rawStatus: `word ${n}`, ...more } as OrderChange,
      });
    const first = record(0); // under way alone, so that the others go together
    const others = [record(1), record(2, { since: 'no instant' }), record(3)];
    const outcomes = await Promise.allSettled([first, ...others]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect(await changesOf('batch')).toHaveLength(3);
  });

  // An operator resets the run, which reads the order anew and counts its notices from there.
  it.each([
    ['the same again', '1 Driving 5', 'Routing Driving'],
    ['a status that came meanwhile', '1 Completed 5', 'Routing Driving Completed'],
    ['what it had recorded last', '2 Completed 3, 1 Completed 5', 'Routing Driving Completed'],
    [
      'that it goes to and fro',
      '2 Completed 3, 1 Driving 5, 2 Completed 6',
      'Routing Driving Completed Driving Completed',
    ],
    ['another end', '2 Completed 3, 0 Completed 5, 1 Cancelled 6', 'Routing Driving Completed Cancelled'],
    ['the former status, from a worker that stood still', '1 Completed 5, 1 Driving 2', 'Routing Driving Completed'],
  ])('loses nothing, and writes nothing twice, where a run is reset and finds %s', async (name, told, rows) => {
    for (const one of `0 Routing 1, 1 Driving 2, ${told}`.split(', ')) {
      const [notice, rawStatus, second] = one.split(' ');
      const at = new Date(Date.UTC(2031, 0, 1, 0, 0, Number(second))).toISOString();
      const change = { account: 'business', orderId: name, since: at, terminal: false, status: rawStatus, rawStatus };
      const noticed = { run: name, notice: Number(notice), at, type: 'order.changed' } as const;
      await opened.store.record({ ...noticed, change: change as unknown as OrderChange });
    }
    const changes = await changesOf(name);
    expect(changes.map(([, , status]) => status).join(' ')).toBe(rows);
    expect(changes.map(([number]) => number)).toEqual(changes.map((_, at) => at + 1));
  });
});
