import { describe, expect, it } from 'vitest';
import { afterEnd, isFollowedAgain, type OrderEnd } from '../../../src/domain/order/earlier-run.js';

const table: [OrderEnd, asked: boolean, askedAgain: boolean, delivery: ReturnType<typeof afterEnd>][] = [
  ['completed', false, false, 'late'],
  ['cancelled', false, false, 'late'],
  ['rejected', false, false, 'late'],
  ['stopped', false, true, 'followingStopped'],
  ['expired', false, true, 'again'],
  ['unreadable', false, true, 'endUnreadable'],
  ['brokenOff', true, true, 'again'],
];

describe('an order whose following has ended', () => {
  it.each(table)('as %s is followed again: asked %s, asked to do it again %s, by a delivery %s', (end, ...verdicts) => {
    expect([isFollowedAgain(end, false), isFollowedAgain(end, true), afterEnd(end)]).toEqual(verdicts);
  });
});
