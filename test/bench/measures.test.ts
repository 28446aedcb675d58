import { describe, expect, it } from 'vitest';
import { isWrite, parseDatabaseCalls } from '../../bench/database-calls.js';
import { committedBytes } from '../../bench/database-size.js';
import { type Measure, summarize, toListing, toTable } from '../../bench/report.js';
import { median } from '../../bench/statistics.js';
import { parseCpuTimes, watchStolenTime } from '../../bench/stolen-time.js';

const pageSize = 512;

/** A write-ahead log of SQLite: one frame for each entry, with the pages of the database after it, 0 inside a commit. */
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

it.each<[string, Buffer, number | undefined]>([
  ['what its last commit says', walOf([{ pages: 3 }, { pages: 0 }, { pages: 9 }, { pages: 0 }]), 9 * pageSize],
  ['not what frames from before the last checkpoint say', walOf([{ pages: 3 }, { pages: 20, salt: 6 }]), 3 * pageSize],
  ['not known while the log holds no commit', walOf([]), undefined],
  ['not known while the log is empty', Buffer.alloc(0), undefined],
])('the size of a database by its write-ahead log is %s', (_, wal, bytes) => {
  expect(committedBytes(wal)).toBe(bytes);
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
    const sides = { faretrail: 12, plain: 400, factor: { median: 30, min: 20, max: 40 } };
    expect(summarize(cost)).toMatchObject(sides);
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

  it('lists more sides than two beside each other', () => {
    const listing = {
      name: 'calls',
      columns: ['one', 'two', 'three'],
      rows: [{ name: 'reads', values: [1, 2.345, 0] }],
    };
    expect(toListing(listing)).toMatch(/calls.*one.*two.*three.*reads.*1\.00.*2\.35.*0\.00/s);
  });

  it('takes the mean of the two values in the middle as the median of an even count', () => {
    expect(median([4, 1, 3, 2])).toBe(2.5);
  });
});

describe('the time that the host took from this machine', () => {
  it('is a part of all time, in which the time of guests counts once', () => {
    const stat = 'cpu  10 1 20 60 2 3 4 50 7 7\ncpu0 5 0 10 30 1 1 2 25 3 3\nintr 1\n';
    expect(parseCpuTimes(stat)).toEqual({ all: 150, stolen: 50 });
  });

  it('is 0 where the system tells nothing', () => {
    expect(parseCpuTimes('')).toBeUndefined();
    expect(watchStolenTime(() => undefined)()).toBe(0);
  });

  it('is a share of the time since the last reading', () => {
    const readings = [100, 200, 400].map((all) => ({ all, stolen: all === 100 ? 50 : 60 }));
    const stolenShare = watchStolenTime(() => readings.shift());
    expect([stolenShare(), stolenShare()]).toEqual([0.1, 0]);
  });
});

describe('the calls of the database', () => {
  const metrics = `
# HELP persistence_requests Persistence requests
persistence_requests{namespace="default",operation="UpdateWorkflowExecution",service_name="history"} 7
persistence_requests{namespace="system",operation="UpdateWorkflowExecution",service_name="history"} 2
persistence_requests{namespace="default",operation="GetTimerTasks"} 1.5e+03
visibility_persistence_requests{operation="UpsertWorkflowExecution",visibility_plugin_name="sqlite"} 4
persistence_latency_count{operation="GetTimerTasks"} 99
`;

  it('are counted by operation over all services and namespaces, those about visibility apart', () => {
    expect(Object.fromEntries(parseDatabaseCalls(metrics))).toEqual({
      UpdateWorkflowExecution: 9,
      GetTimerTasks: 1_500,
      'visibility UpsertWorkflowExecution': 4,
    });
  });

  it('are writes unless they only look', () => {
    const looks = ['GetTimerTasks', 'ReadHistoryBranch', 'ListNamespaces', 'visibility CountWorkflowExecutions'];
    const writes = ['CreateTasks', 'RangeCompleteTimerTasks', 'GetOrCreateShard', 'visibility UpsertWorkflowExecution'];
    expect([...looks, ...writes].filter(isWrite)).toEqual(writes);
  });
});
