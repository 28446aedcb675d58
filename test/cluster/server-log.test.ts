import { expect, it } from 'vitest';
import { countMessages } from '../../cluster/server-log.js';

const line = (msg: string, error?: string) => JSON.stringify({ level: 'error', msg, ...(error && { error }) });

it('messages of the servers are counted, whatever their numbers, and lines that are cut off are left out', () => {
  const first = [line('shard', 'shard 3 of 127.0.0.1:4711'), 'goroutine 7 [running]:', line('full')].join('\n');
  const second = [line('shard', 'shard 12 of 127.0.0.1:4712'), '{"level":"error","ms'].join('\n');
  expect(countMessages([first, second])).toEqual([
    ['error: shard: shard N of N:N', 2],
    ['error: full', 1],
  ]);
});
