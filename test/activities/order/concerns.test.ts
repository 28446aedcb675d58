import { expect, it } from 'vitest';
import { aRead, LookStage, readingOf } from '../attempts.js';
import { apiError } from '../service.js';
import { iso, minute, start } from '../temporal.js';

const stuck = { code: 'stuckInStatus', since: iso(start + 30 * minute) };

it.each([null, 'stuckInStatus'] as const)(
  'a read tells since when an order is stuck whose run shows %s',
  async (attention) => {
    const stage = new LookStage(readingOf('Routing'));
    stage.now += 40 * minute;
    const { seen } = await stage.attempt(aRead({ attention }));
    expect(seen).toMatchObject({ reading: { concern: stuck } });
  },
);

it('trouble is shown in spite of a concern', async () => {
  const { seen } = await new LookStage(apiError('FORBIDDEN')).attempt(aRead({ attention: 'customerCare' }));
  expect(seen).toMatchObject({ kind: 'trouble', attention: { code: 'forbidden' } });
});

it('nothing is looked for in the ride of an order that has ended', async () => {
  const reading = { ...readingOf('CareReq'), terminal: true };
  const { seen } = await new LookStage(reading).attempt(aRead());
  expect(seen).toEqual({ kind: 'reading', reading: { ...reading, concern: null }, at: iso(start), reads: 1 });
});
