import { expect, it } from 'vitest';
import { isGood } from '../../../../dev/faults/cluster/tally.js';
import { type Told, wronglyAnswered } from '../../../../dev/faults/counterparts/messages.js';
import { type Row, tallyOf, toText } from '../../../../dev/faults/counterparts/report.js';

it.each<[right: boolean, ...told: Told]>([
  [true, 'followOrder', 'start', 'followOrder', 'NaN', 'InvalidInput input: cannot be decoded'],
  [false, 'followOrder', 'start', 'followOrder', 'None', 'taken'],
  [false, 'followOrder', 'start', 'followOrder', 'NaN', 'no answer in 60 s'],
  [true, 'order', 'signal', 'deliveryReceived', 'NaN', 'taken'],
  [false, 'order', 'signal', 'deliveryReceived', 'NaN', 'server INVALID_ARGUMENT'],
  [true, 'order', 'update', 'stopFollowing', 'bytes', 'InvalidInput reason: missing'],
  [true, 'order', 'update', 'refreshOrder', 'None', 'taken'],
  [false, 'order', 'update', 'refreshOrder', 'NaN', 'taken'],
  [false, 'order', 'update', 'stopFollowing', 'bytes', 'server UNAVAILABLE'],
  [true, 'order', 'query', 'orderTrail', 'NaN', 'query refused'],
  [false, 'order', 'query', 'orderTrail', 'NaN', 'no answer in 60 s'],
])('is it %s that %s, by %s %s with %s, answers "%s"', (right, ...told) => {
  expect(wronglyAnswered([told]).length).toBe(right ? 0 : 1);
});

it('one broken promise is a failure, and the table and the lines below name it', () => {
  const right: Row = { tool: 'good tool', version: '1.2', tried: 'this', came: 'that', wrong: [] };
  const wrong: Row = { ...right, tool: 'bad tool', wrong: ['one is lost', 'one came twice'] };
  expect(isGood(tallyOf([right]))).toBe(true);
  expect(tallyOf([right, wrong])).toEqual({ passed: 1, failed: 1 });
  const text = toText([right, wrong]);
  expect(text).toContain('WRONG (2)');
  expect(text).toContain('WRONG: bad tool: one came twice');
  expect(toText([right])).not.toContain('WRONG');
});
