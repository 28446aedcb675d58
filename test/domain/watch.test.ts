import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toAccountName } from '../../src/domain/keys.js';
import {
  describeWatch,
  pollsPerSecond,
  readNextFinding,
  readSeenChange,
  readWatchTold,
} from '../../src/domain/watch.js';
import { forAny } from '../support/for-any.js';

describe('the rate of polls', () => {
  const alone = { used: 0, isOnlyOne: true };

  it('is nine tenths of the budget while no other call needs it, and what they leave otherwise', () => {
    expect(pollsPerSecond(10, alone)).toBe(9);
    expect(pollsPerSecond(10, { ...alone, used: 4 })).toBe(6);
  });

  it('is a quarter of the budget for a process that may not be the only one with the watch', () => {
    expect(pollsPerSecond(10, { ...alone, isOnlyOne: false })).toBe(2.5);
    expect(pollsPerSecond(10, { used: 8.5, isOnlyOne: false })).toBe(1.5);
  });

  const standings = fc.record({
    used: fc.double({ min: 0, max: 1_000, noNaN: true }),
    isOnlyOne: fc.boolean(),
  });
  it('stays between a tenth and nine tenths of any budget, and within the budget with nine tenths of other calls', () => {
    forAny(fc.double({ min: 0.1, max: 500, noNaN: true }), standings, (budget, standing) => {
      const rate = pollsPerSecond(budget, standing);
      expect(rate).toBeGreaterThanOrEqual(budget * 0.1 - 1e-9);
      expect(rate).toBeLessThanOrEqual(budget * 0.9 + 1e-9);
      const used = Math.min(standing.used, budget * 0.9);
      expect(rate + used).toBeLessThanOrEqual(budget + 1e-9);
    });
  });
});

describe('what comes to a run of another program', () => {
  const at = '2031-05-01T10:00:00.000Z';
  const streak = { code: 'orderNotFound', message: 'm', since: at, failures: 3, notBefore: at };

  it('is a hint, whatever it says of the change', () => {
    const seen = { streak, unchangedAt: at };
    expect(readSeenChange(JSON.parse(JSON.stringify(seen)))).toEqual(seen);
    for (const other of [undefined, null, 1, {}, { streak: { ...streak, code: 'tired' }, unchangedAt: null }])
      expect(readSeenChange(other)).toEqual({ streak: null, unchangedAt: null });
  });

  it('is what the watch tells, or nothing', () => {
    const told = { worker: 'w', orders: 3, attention: { code: 'upstreamUnavailable', message: 'm', since: at } };
    expect(readWatchTold(JSON.parse(JSON.stringify(told)))).toEqual(told);
    expect(readWatchTold({ ...told, worker: null, attention: null })).toMatchObject({ worker: null });
    for (const other of [undefined, 'told', { ...told, orders: 'three' }]) expect(readWatchTold(other)).toBeNull();
  });
});

describe('what completes the pending read of a run', () => {
  const at = '2031-05-01T10:00:00.000Z';
  const concern = { code: 'stuckInStatus', message: 'm', since: at };
  const reading = { status: 'Routing', rawStatus: 'ROUTING', terminal: false, details: { eta: 3 }, concern };
  const ofReading = { kind: 'reading', reading, at, reads: 0, comparedWith: 'Driving', unchangedAt: at };
  const attention = { code: 'orderNotFound', message: 'm', since: at };
  const ofTrouble = { kind: 'trouble', attention, notBefore: at, reads: 0, comparedWith: 'Driving' };
  const overTheWire = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

  it.each([
    ['a reading', ofReading],
    ['one by a worker with a store', { ...ofReading, stores: true }],
    ['one after nobody knows when', { ...ofReading, unchangedAt: null }],
    ['an end', { ...ofReading, reading: { ...reading, terminal: true, details: null, concern: null } }],
    ['trouble', ofTrouble],
  ])('is read as it was written: %s', (_, found) => {
    expect(readNextFinding(overTheWire(found))).toEqual(found);
  });

  it('loses what a later release adds', () => {
    expect(readNextFinding({ ...ofReading, more: 1, reading: { ...reading, more: 1 } })).toEqual(ofReading);
    expect(readNextFinding({ ...ofTrouble, more: 1 })).toEqual(ofTrouble);
  });

  it('loses a concern that is none', () => {
    const other = { ...ofReading, reading: { ...reading, concern: attention } };
    expect(readNextFinding(other)).toEqual({ ...ofReading, reading: { ...reading, concern: null } });
  });

  it.each<unknown>([
    ...[undefined, null, 1, 'reading', [], [ofReading], {}, { kind: 'reading' }, { kind: 'unknownOrder', reads: 0 }],
    ...Object.keys(ofReading).map((key) => ({ ...ofReading, [key]: undefined })),
    ...Object.keys(ofReading).map((key) => ({ ...ofReading, [key]: [] })),
    ...Object.keys(reading).map((key) => ({ ...ofReading, reading: { ...reading, [key]: 7 } })),
    ...Object.keys(ofTrouble).map((key) => ({ ...ofTrouble, [key]: undefined })),
    ...Object.keys(ofTrouble).map((key) => ({ ...ofTrouble, [key]: [] })),
    ...Object.keys(attention).map((key) => ({ ...ofTrouble, attention: { ...attention, [key]: 7 } })),
    ...[
      { ...ofReading, at: 'soon' },
      { ...ofReading, unchangedAt: 'before' },
      { ...ofReading, reads: 0.5 },
    ],
    ...[
      { ...ofReading, stores: false },
      { ...ofTrouble, notBefore: 'later' },
      { ...ofTrouble, kind: 'reading' },
    ],
  ])('is nothing otherwise: %j', (given) => {
    expect(readNextFinding(given)).toBeNull();
  });

  it('never throws, and gives nothing that it would not read again', () => {
    const anything = fc.oneof(fc.anything(), fc.record({ kind: fc.constantFrom('reading', 'trouble') }));
    const part = fc.record({
      reading: fc.oneof(fc.constant(reading), fc.anything()),
      attention: fc.oneof(fc.constant(attention), fc.anything()),
      at: fc.oneof(fc.constant(at), fc.anything()),
    });
    forAny(anything, part, fc.constantFrom(ofReading, ofTrouble), (value, some, whole) => {
      for (const given of [value, { ...whole, ...some }]) {
        const found = readNextFinding(given);
        if (found !== null) expect(readNextFinding(found)).toEqual(found);
      }
    });
  });
});

it('the Temporal UI says who polls how many orders, and what is wrong with the account', () => {
  const status = { account: toAccountName('acme'), worker: null, since: null, orders: 0, attention: null };
  expect(describeWatch(status)).toBe('No worker has polled yet.');
  const since = '2031-05-01T10:00:00.000Z';
  const attention = { code: 'credentialsRejected', message: 'Check the secret.', since } as const;
  const shown = describeWatch({ ...status, worker: '7@host', since, orders: 12, attention });
  expect(shown).toContain('**12** live orders');
  expect(shown).toContain('7@host');
  expect(shown).toContain('Check the secret.');
});
