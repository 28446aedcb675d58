import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeLateNotices } from '../../../src/domain/notify/late-notices.js';
import {
  addNotice,
  addReader,
  describeMissed,
  type NoticeLog,
  nextNotice,
  openNoticeLog,
  passNotice,
  withBusy,
} from '../../../src/domain/notify/notice-log.js';
import { forAny } from '../../support/for-any.js';

const at = '2031-05-01T10:00:00.000Z';
const max = 3;
const add = (log: NoticeLog, only?: number): NoticeLog =>
  addNotice(log, { event: {}, at, ...(only === undefined ? {} : { only }) }, max);
const told = { kind: 'told' } as const;
const refused = (why: string) => ({ kind: 'missed', reason: 'refused', why }) as const;
const filled = (readers: number, notices: number): NoticeLog =>
  Array.from({ length: notices }).reduce<NoticeLog>((log) => add(log), openNoticeLog(readers));

describe('a log of notices', () => {
  it('gives each reader every notice in its order, whatever the others do', () => {
    let log = filled(2, 3);
    log = passNotice(log, 0, 1, told);
    log = passNotice(log, 0, 2, told);
    expect([nextNotice(log, 0)?.number, nextNotice(log, 1)?.number]).toEqual([3, 1]);
  });

  it('keeps a notice until the last reader knows it', () => {
    let log = passNotice(filled(2, 1), 0, 1, told);
    expect(log.notices).toHaveLength(1);
    log = passNotice(log, 1, 1, told);
    expect(log).toMatchObject({ last: 1, notices: [] });
  });

  it('drops the oldest when it is full, except the one that is on its way, and says so', () => {
    const log = passNotice(filled(1, 6), 0, 1, told);
    expect(log.notices.map(({ number }) => number)).toEqual([5, 6]);
    expect(log.readers[0]?.missed).toEqual({ count: 3, last: 4, why: 'too many were waiting' });
    expect(nextNotice(log, 0)?.number).toBe(5);
  });

  it('tells a reader that joins what comes from then on, and what is for it alone', () => {
    let log = addReader(filled(1, 2));
    expect(nextNotice(log, 1)).toBeUndefined();
    log = add(log, 1);
    expect(nextNotice(log, 1)?.number).toBe(3);
    log = passNotice(passNotice(log, 0, 1, told), 0, 2, told);
    expect(nextNotice(log, 0)).toBeUndefined();
    log = add(passNotice(log, 1, 3, told));
    expect([nextNotice(log, 0)?.number, nextNotice(log, 1)?.number]).toEqual([4, 4]);
  });

  it('keeps nothing for a reader that wants no more', () => {
    const gone = passNotice(filled(1, 2), 0, 1, { kind: 'missed', reason: 'gone', why: 'HTTP 410' });
    expect(gone.notices).toEqual([]);
    expect(nextNotice(add(gone), 0)).toBeUndefined();
    expect(add(gone).notices).toEqual([]);
  });

  it('tells the next run which readers the run before it may still be telling', () => {
    const log = withBusy(filled(2, 1), (index) => index === 1, at);
    expect(log.readers.map(({ busyUntil }) => busyUntil)).toEqual([undefined, at]);
  });

  it('accounts for every notice: told, missed or waiting, in their order, and stays bounded', () => {
    const steps = fc.array(fc.oneof(fc.constant('add'), fc.nat({ max: 2 }), fc.constant('fail')), { maxLength: 60 });
    forAny(steps, (moves) => {
      let log = openNoticeLog(3);
      const passed: number[][] = [[], [], []];
      for (const move of moves) {
        const reader = typeof move === 'number' ? move : 1;
        const next = nextNotice(log, reader);
        if (move === 'add') log = add(log);
        else if (next) log = passNotice(log, reader, next.number, move === 'fail' ? refused('x') : told);
        if (next && typeof move === 'number') passed[reader]?.push(next.number);
        log = JSON.parse(JSON.stringify(log));
      }
      for (const [index, numbers] of passed.entries()) {
        const reader = log.readers[index];
        const waiting = log.notices.filter(({ number }) => number >= (reader?.next ?? 0)).length;
        expect(numbers.length + (reader?.missed?.count ?? 0) + waiting).toBe(log.last);
        expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
      }
      expect(log.notices.length).toBeLessThanOrEqual(max);
    });
  });
});

describe('what a reader missed', () => {
  const receiver = { url: 'https://orders.example.com/s3cret?key=s3cret', entry: 4 };
  const line = (log: NoticeLog): string[] => log.readers.flatMap((reader) => describeMissed(reader, receiver));

  it('has no line while the reader got everything', () => {
    expect(line(passNotice(filled(1, 1), 0, 1, told))).toEqual([]);
  });

  it('has one line that names the receiver by its place and its host', () => {
    const log = passNotice(filled(1, 2), 0, 1, refused('HTTP 400'));
    expect(line(log)).toEqual(['notify 4, orders.example.com, no. 1: HTTP 400']);
    const more = passNotice(log, 0, 2, refused('HTTP 404'));
    expect(line(more)).toEqual(['notify 4, orders.example.com, 2, last no. 2: HTTP 404']);
    const gone = passNotice(filled(1, 1), 0, 1, { kind: 'missed', reason: 'gone', why: 'HTTP 410' });
    expect(line(gone)).toEqual(['notify 4, orders.example.com, from no. 1: HTTP 410']);
  });
});

const urls = [
  { url: 'https://up.example/s3cret', entry: 0 },
  { url: 'https://down.example:8443/s3cret?key=s3cret', entry: 2 },
];
const log = filled(2, 2);

describe('what the Temporal UI shows of late notices', () => {
  it('names each URL that still misses notices, by its place and host alone', () => {
    const left = passNotice(passNotice(log, 0, 1, told), 0, 2, told);
    const missed = ['notify 1, gone.example: it said so'];
    const text = describeLateNotices('order/business/4711', { urls, log: left }, missed);
    expect(text).toContain('sent about order/business/4711**');
    expect(text).toContain('| notify 2, down.example:8443 | 2 | no. 1, known since 2031-05-01 10:00:00 |');
    expect(text).toContain('Not notified: notify 1, gone.example: it said so');
    expect(text).not.toMatch(/s3cret|up\.example/);
  });

  it('counts what is meant for one URL alone at that URL', () => {
    const text = describeLateNotices('report/business/4711', { urls, log: add(log, 0) }, []);
    expect(text).toMatch(/notify 0, up\.example \| 3 \|/);
    expect(text).toMatch(/notify 2, down\.example:8443 \| 2 \|/);
  });

  it('stays below the 20,000 bytes that the server takes', () => {
    const url = `https://${'x'.repeat(63)}.${'y'.repeat(60)}`;
    const many = Array.from({ length: 50 }, (_, entry) => ({ url, entry }));
    const missed = many.map(() => '\u20ac'.repeat(200));
    const about = `order/business/${'\u20ac'.repeat(128)}`;
    const text = describeLateNotices(about, { urls: many, log: filled(50, 1) }, missed);
    expect(Buffer.byteLength(text)).toBeLessThan(20_000);
  });
});
