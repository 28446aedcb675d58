import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../local/temporal/free-port.js';
import { isLong } from '../support/long.js';
import { startFleet } from '../support/worker/fleet.js';
import { startWorkerProcess } from '../support/worker/process.js';

const scrapeEveryMs = 2_000;

it.runIf(isLong).each([2, 3])(
  'of %i workers one counts the runs, and after its kill another one',
  async (size) => {
    const fleet = await startFleet(0);
    onTestFinished(() => fleet.close());
    const workers = await Promise.all(
      Array.from({ length: size }, async () => {
        const port = await freePort();
        const process = await startWorkerProcess({ ...fleet.env, FARETRAIL_METRICS_PORT: String(port) });
        fleet.workers.push(process);
        const page = async () => await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
        return { process, page };
      }),
    );
    const [order] = await fleet.followOrders(1, [['Driving', 0]]);

    let alive = workers;
    const shown = async () => {
      const pages = await Promise.all(alive.map(async (worker) => ({ worker, text: await worker.page() })));
      return pages.filter(({ text }) => /^faretrail_followed_orders 1$/m.test(text)).map(({ worker }) => worker);
    };
    const showers = (count: number) =>
      expect.poll(async () => (await shown()).length, { timeout: 130_000, interval: scrapeEveryMs }).toBe(count);
    /** So many calls of this name has a worker made, from the metrics of the SDK. */
    const calls = async (name: string) =>
      await Promise.all(
        alive.map(async ({ page }) => {
          const lines = (await page()).match(
            new RegExp(`^temporal_(?:long_)?request\\{.*operation="${name}".*$`, 'gm'),
          );
          return (lines ?? []).reduce((sum, line) => sum + Number(line.split(' ').pop()), 0);
        }),
      );

    await showers(1);
    await sleep(12_000); // the first elections may have been held before all were candidates
    await showers(1);
    const [elected] = await shown();
    const countsBefore = await calls('CountWorkflowExecutions');
    const listsBefore = await calls('DescribeTaskQueue');
    for (let scrape = 0; scrape < 12; scrape += 1) {
      await sleep(5_000);
      expect(await shown(), 'at no scrape does another one count, or none').toEqual([elected]);
    }
    const grown = (await calls('CountWorkflowExecutions')).map((now, index) => now - (countsBefore[index] ?? 0));
    const lists = (await calls('DescribeTaskQueue')).map((now, index) => now - (listsBefore[index] ?? 0));
    console.log(`${size} workers, in about a minute: counts by each ${grown}, lists of pollers ${lists}`);
    expect(grown.filter((count) => count > 0).length).toBe(1);

    await elected?.process.kill();
    alive = workers.filter((worker) => worker !== elected);
    const killedAt = Date.now();
    await showers(1);
    console.log(`${size} workers: counted again ${Math.round((Date.now() - killedAt) / 1_000)} s after the kill`);
    expect(Date.now() - killedAt).toBeLessThan(120_000);
    await order?.terminate();
  },
  400_000,
);
