import { readFileSync } from 'node:fs';
import type { Client } from '@temporalio/client';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { describe, expect, it } from 'vitest';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import type { OrderTrail } from '../../src/domain/order/trail.js';
import { toDataConverter } from '../../src/sealing/data-converter.js';
import { readLeft } from '../../src/temporal/starts.js';
import { historyFile } from '../replay/histories.js';
import { recordedRuns } from '../replay/payloads.js';

const key = { account: toAccountName('business'), orderId: toOrderId('4711') };
const codes = { PERMISSION_DENIED: 7, UNAVAILABLE: 14 };

/** What is read of an ended run whose history comes like this. */
function leftWhere(fetchHistory: () => Promise<unknown>) {
  const client = {
    options: { loadedDataConverter: toDataConverter({ keys: null, encrypts: false }) },
    workflow: { getHandle: () => ({ fetchHistory }) },
  };
  return readLeft(client as unknown as Client, key, 'run');
}

const leftBy = (name: string) =>
  leftWhere(async () => historyFromJSON(JSON.parse(readFileSync(historyFile(name), 'utf8'))));
const refused = (code: number) => async () => {
  throw Object.assign(new Error('refused'), { code, details: 'refused', metadata: {} });
};
const readsIn = ({ timeline }: OrderTrail) =>
  timeline.filter(({ source }) => source === 'read').map(({ status }) => status);

const completed = recordedRuns().flatMap(({ file, type, result }) =>
  type === 'followOrder' && result ? [{ name: file.replace('.json', ''), trail: result as OrderTrail }] : [],
);

describe('a run of an order that has ended', () => {
  it.each(completed)('leaves what it showed at its end: $name', async ({ name, trail }) => {
    const left = await leftBy(name);
    if (typeof left === 'string') return expect.fail(left);
    const { status, rawStatus, terminal, deliveries, attention, details } = trail;
    expect(left.trail).toMatchObject({ status, rawStatus, terminal, deliveries, attention, details });
    expect(readsIn(left.trail)).toEqual(readsIn(trail));
  });

  it('leaves nothing where its input was wrong', async () => {
    expect([await leftBy('order-with-bad-input'), await leftBy('order-with-undecodable-input')]).toEqual([
      'nothing',
      'nothing',
    ]);
  });

  it.each(Object.values(codes))(
    'is not taken for one that left nothing where Temporal refuses with %i',
    async (code) => {
      await expect(leftWhere(refused(code))).rejects.toMatchObject({ code });
    },
  );
});
