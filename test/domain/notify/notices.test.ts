import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  addNotice,
  describeNotices,
  type Notice,
  type NoticesInput,
  noticesSince,
  parseNoticesInput,
  passNotice,
  readNotice,
  resend,
  toMissedMemo,
  toNoticesEnd,
} from '../../../src/domain/notify/notices.js';
import { store } from '../../../src/domain/notify/receivers.js';
import { forAny } from '../../support/for-any.js';

const at = '2031-05-01T10:00:00.000Z';
const max = 3;
const url = 'https://down.example:8443/s3cret?key=s3cret';
const notice = (number: number, more: Partial<Notice> = {}): Notice => ({
  ...{ number, at, type: 'order.changed', data: {}, to: url, isLast: false },
  ...more,
});
const add = (before: NoticesInput, number: number) => addNotice(before, notice(number));
const filled = (count: number): NoticesInput =>
  Array.from({ length: count - 1 }).reduce<NoticesInput>((all, _, n) => add(all, n + 2), noticesSince(notice(1), max));
const told = { kind: 'told' } as const;
const refused = (why: string) => ({ kind: 'missed', reason: 'refused', why, status: 400 }) as const;
const gone = { kind: 'missed', reason: 'gone', why: 'HTTP 410' } as const;
const numbers = ({ waiting }: NoticesInput) => waiting.map(({ number }) => number);

describe('the notices of a receiver', () => {
  it('are dropped from the oldest on when too many wait, except the one that is on its way, and it says so', () => {
    const all = filled(6);
    expect(numbers(all)).toEqual([1, 5, 6]);
    expect(all.missed).toEqual({ count: 3, last: 4, why: 'too many were waiting' });
  });

  it('are not kept where it wants no more', () => {
    const none = passNotice(filled(2), gone, null);
    expect(none).toMatchObject({ waiting: [], missed: { count: 1, last: 1, why: 'HTTP 410' } });
    expect(add(none, 3)).toEqual(none);
    expect(addNotice(none, notice(3, { isLast: true })).isEnded).toBe(true);
  });

  // An operator reset the run that tells them, and it has learnt of its receivers in another order.
  it('go to another URL also after one that wants no more, and under numbers that came before', () => {
    const other = notice(1, { to: 'https://other.example/' });
    expect(addNotice(passNotice(filled(2), gone, null), other).waiting).toEqual([other]);
  });

  it.each([
    ['an earlier release', null],
    ['this one', at],
  ])('are all accounted for in a run of %s: told, missed or waiting, in their order, and bounded', (_, missedAt) => {
    const moves = fc.array(fc.constantFrom('add', 'tell', 'fail'), { maxLength: 60 });
    forAny(moves, (steps) => {
      let all = filled(1);
      let last = 1;
      const passed: number[] = [];
      for (const step of steps) {
        if (step === 'add') {
          last += 1;
          all = add(all, last);
        } else {
          if (step === 'tell') passed.push(...numbers(all).slice(0, 1));
          all = passNotice(all, step === 'fail' ? refused('x') : told, missedAt);
        }
        all = parseNoticesInput(JSON.parse(JSON.stringify(all)));
      }
      expect(passed.length + (toNoticesEnd(all).missed?.count ?? 0) + all.waiting.length).toBe(last);
      expect(all.waiting.length + (all.kept?.length ?? 0)).toBeLessThanOrEqual(max);
      if (missedAt === null) expect(all.kept).toBeUndefined();
      expect([...passed, ...numbers(all)]).toEqual([...passed, ...numbers(all)].sort((a, b) => a - b));
    });
  });

  describe('that it refused', () => {
    const refusedTwo = [1, 2].reduce<NoticesInput>((all) => passNotice(all, refused('HTTP 400'), at), filled(3));
    const asked = (number: number, missedAt = at) => ({ number, missedAt });
    const later = '2031-05-02T10:00:00.000Z';

    it('wait again once when a person asks, however often, and are as before but for the time that they get', () => {
      const again = resend(refusedTwo, asked(2), later);
      expect(again.waiting).toEqual([notice(3), { ...notice(2), resentAt: later }]);
      expect(toMissedMemo(again).map(({ number }) => number)).toEqual([1]);
      expect(toNoticesEnd(again).missed).toMatchObject({ count: 1, last: 1 });
      expect(resend(again, asked(2), later)).toBe(again);
    });

    it('are not sent again by a request from before they were refused anew, or by what is no request', () => {
      const anew = passNotice(passNotice(resend(refusedTwo, asked(2), later), told, later), refused('x'), later);
      expect(resend(anew, asked(2), later)).toBe(anew);
      expect(numbers(resend(anew, asked(2, later), later))).toEqual([2]);
      for (const wrong of [undefined, {}, { number: 2 }, asked(9)])
        expect(resend(refusedTwo, wrong, later)).toBe(refusedTwo);
    });

    it('do not open the run again after its last notice', () => {
      const ended = addNotice(refusedTwo, notice(4, { isLast: true }));
      expect(resend(ended, asked(1), later).isEnded).toBe(true);
    });
  });

  it('are taken for the store, too, and what any program sends in their place is left out', () => {
    expect(readNotice(notice(1, { to: store }))).toEqual(notice(1, { to: store }));
    for (const wrong of [undefined, null, {}, notice(1, { to: 'ftp://x' })]) expect(readNotice(wrong)).toBeNull();
  });
});

it('the Temporal UI shows what waits for a URL and what it has missed, by its host alone, below 20,000 bytes', () => {
  const text = describeNotices('order/business/4711', passNotice(filled(3), refused('HTTP 400'), null));
  expect(text).toBe(
    [
      '**Notices about order/business/4711**',
      '2 wait for down.example:8443: next no. 2, known since 2031-05-01 10:00:00 UTC. The pending activity shows why it is not taken.',
      'Not taken: 1, last no. 1: HTTP 400',
    ].join('\n\n'),
  );
  const kept = describeNotices('a', passNotice(filled(1), refused('HTTP 400'), at));
  expect(kept).toMatch(/\n\nNone waits\.\n\n.*\n\n1 of them may be sent again: `faretrail notice resend`$/);
  expect(describeNotices('order/business/4711', passNotice(filled(2), gone, null))).toContain(':8443 wants no more.');
  const long = passNotice(filled(2), refused('\u20ac'.repeat(20_000)), at);
  expect(Buffer.byteLength(describeNotices('\u20ac'.repeat(1_000), long))).toBeLessThan(20_000);
});
