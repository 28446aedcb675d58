import { describe, expect, it } from 'vitest';
import { committedBytes } from '../../bench/database-size.js';
import { type Measure, summarize, toTable } from '../../bench/report.js';
import { median } from '../../bench/statistics.js';

const pageSize = 512;

/** A write-ahead log of SQLite: one frame per entry, with the pages of the database after it, 0 inside a commit. */
function walOf(frames: { pages: number; salt?: number }[]): Buffer {
  const header = Buffer.alloc(32);
  header.writeUInt32BE(pageSize, 8);
  header.writeUInt32BE(7, 16);
  const body = frames.map(({ pages, salt = 7 }) => {
    const frame = Buffer.alloc(24 + pageSize);
    frame.writeUInt32BE(pages, 4);
    frame.writeUInt32BE(salt, 8);
    return frame;
  });
  return Buffer.concat([header, ...body]);
}

describe('the size of a database', () => {
  it('is what the last commit in the write-ahead log says', () => {
    expect(committedBytes(walOf([{ pages: 3 }, { pages: 0 }, { pages: 9 }, { pages: 0 }]))).toBe(9 * pageSize);
  });

  it('is not read from frames that are left over from before the last checkpoint', () => {
    expect(committedBytes(walOf([{ pages: 3 }, { pages: 20, salt: 6 }]))).toBe(3 * pageSize);
  });

  it('is that of the file when the log holds no commit', () => {
    expect(committedBytes(walOf([]))).toBeUndefined();
    expect(committedBytes(Buffer.alloc(0))).toBeUndefined();
  });
});

describe('the report', () => {
  const cost: Measure = {
    name: 'events',
    unit: '',
    better: 'lower',
    rounds: [
      { faretrail: 10, plain: 300 },
      { faretrail: 20, plain: 400 },
      { faretrail: 12, plain: 480 },
    ],
  };

  it('compares the sides round by round', () => {
    const { faretrail, plain, factor } = summarize(cost);
    expect({ faretrail, plain, factor }).toEqual({
      faretrail: 12,
      plain: 400,
      factor: { median: 30, min: 20, max: 40 },
    });
  });

  it('turns the ratio round where more is better', () => {
    expect(summarize({ ...cost, better: 'higher' }).factor.max).toBe(1 / 20);
  });

  it('says whether a goal is met, by factor and by value', () => {
    const goal = { text: 'g', limit: 25 } as const;
    expect(summarize({ ...cost, goal: { ...goal, of: 'factor' } }).goal?.met).toBe(true);
    expect(summarize({ ...cost, goal: { ...goal, of: 'value', limit: 11 } }).goal?.met).toBe(false);
    const summaries = [summarize({ ...cost, goal: { ...goal, of: 'factor', limit: 31 } })];
    expect(toTable([{ name: 'costs', beside: 'the other', summaries }])).toMatch(/costs, beside the other.*MISSED/s);
  });

  it('takes the mean of the two in the middle as the median of an even count', () => {
    expect(median([4, 1, 3, 2])).toBe(2.5);
  });
});
