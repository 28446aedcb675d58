import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { collectGarbage } from '../../bench/collect-garbage.js';
import { threadHeaps } from '../../bench/thread-heaps.js';

/** Holds thirty megabytes for a while, and lets them grow old. */
const wasteful = `
  const { parentPort } = require('node:worker_threads');
  let held = Array.from({ length: 600_000 }, (_, i) => ({ i }));
  setTimeout(() => { held = null; parentPort.postMessage('dropped'); }, 50);
  setInterval(() => {}, 1_000);`;

it('the garbage of another thread of the process is collected', async () => {
  const thread = new Worker(wasteful, { eval: true });
  await once(thread, 'message');
  const used = () => threadHeaps().find(({ threadId }) => threadId === thread.threadId)?.usedBytes ?? 0;
  const before = used();
  await collectGarbage();
  expect(used()).toBeLessThan(before / 2);
  await thread.terminate();
});
