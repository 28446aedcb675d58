import { describe, expect, it } from 'vitest';
import { describeLateNotices } from '../../../src/domain/notify/late-notices.js';
import { addNotice, openNoticeLog, passNotice } from '../../../src/domain/notify/notice-log.js';

const urls = [
  { url: 'https://up.example/s3cret', entry: 0 },
  { url: 'https://down.example:8443/s3cret?key=s3cret', entry: 2 },
];
const event = { at: '2031-05-01T10:00:00.000Z', event: {} };
const log = addNotice(addNotice(openNoticeLog(2), event, 9), event, 9);
const told = { kind: 'told' } as const;

describe('what the Temporal UI shows of late notices', () => {
  it('names each URL that is still to be told, by its place and host alone', () => {
    const left = passNotice(passNotice(log, 0, 1, told), 0, 2, told);
    const text = describeLateNotices('order/business/4711', { urls, log: left }, [
      'notify[1] gone.example: it said so',
    ]);
    expect(text).toContain('told of order/business/4711**');
    expect(text).toContain('| notify 2, down.example:8443 | 2 | no. 1, known since 2031-05-01 10:00:00 |');
    expect(text).toContain('Not notified: notify 1  gone.example: it said so');
    expect(text).not.toMatch(/s3cret|up\.example/);
  });

  it('counts what is meant for one URL alone at that URL', () => {
    const joined = addNotice(log, { ...event, only: 0 }, 9);
    const text = describeLateNotices('report/business/4711', { urls, log: joined }, []);
    expect(text).toMatch(/notify 0, up\.example \| 3 \|/);
    expect(text).toMatch(/notify 2, down\.example:8443 \| 2 \|/);
  });

  it('stays below the 20,000 bytes that the server takes', () => {
    const many = Array.from({ length: 50 }, (_, entry) => ({
      url: `https://${'x'.repeat(63)}.${'y'.repeat(60)}`,
      entry,
    }));
    const full = addNotice(openNoticeLog(50), event, 9);
    const missed = many.map(() => '\u20ac'.repeat(200));
    const text = describeLateNotices(`order/business/${'\u20ac'.repeat(128)}`, { urls: many, log: full }, missed);
    expect(Buffer.byteLength(text)).toBeLessThan(20_000);
  });
});
