import { expect, it } from 'vitest';
import type { RunCounts } from '../../src/temporal/counts.js';
import { countWhenElected } from '../../src/temporal/elected-counts.js';

const counts = { followed: 7 } as RunCounts;

/** Workers with these names, a clock that they share, and a server that lists who polls as the real one does. */
function stage(...names: string[]) {
  const clock = { now: 1_000_000 };
  const listed = new Map<string, number>();
  const asked = { lists: 0, counts: 0 };
  const state = { fails: undefined as unknown };
  const worker = (identity: string) => {
    const ends: (() => void)[] = [];
    const scrape = countWhenElected({
      taskQueue: 'q',
      fleet: {
        async pollersOf(queue) {
          asked.lists += 1;
          expect(queue).toBe('q:counts');
          if (state.fails !== undefined) throw state.fails;
          return [...listed].map(([name, lastAccessAt]) => ({ identity: name, lastAccessAt }));
        },
      },
      polls: {
        identity,
        stand: () => {
          listed.set(identity, clock.now);
          return new Promise<void>((resolve) => ends.push(resolve));
        },
      },
      count: async () => {
        asked.counts += 1;
        return counts;
      },
      now: () => clock.now,
    });
    return {
      scrape,
      /** The server ends the poll, and notes that. */
      async endPoll() {
        listed.set(identity, clock.now);
        for (const end of ends.splice(0)) end();
        await Promise.resolve();
      },
    };
  };
  return { clock, asked, state, workers: names.map(worker) };
}

it('one of three workers counts, the others show nothing', async () => {
  const { workers, clock } = stage('b', 'a', 'c');
  await Promise.all(workers.map(({ scrape }) => scrape())); // each may not have seen the others yet
  clock.now += 15_000;
  expect(await Promise.all(workers.map(({ scrape }) => scrape()))).toEqual([null, counts, null]);
});

it('a worker alone counts at its first scrape', async () => {
  const { workers } = stage('a');
  expect(await workers[0]?.scrape()).toBe(counts);
});

it('another worker takes the place of one that no longer polls, within two minutes of scrapes once a minute', async () => {
  const { workers, clock } = stage('a', 'b');
  const [, survivor] = workers;
  await Promise.all(workers.map(({ scrape }) => scrape()));
  expect(await survivor?.scrape()).toBeNull();
  clock.now += 25_000;
  await survivor?.endPoll();
  clock.now += 35_000;
  expect(await survivor?.scrape()).toBe(counts);
});

it('a worker that is scraped once a minute remains a candidate between two scrapes', async () => {
  const { workers, clock } = stage('a', 'b');
  const [first, second] = workers;
  await Promise.all(workers.map(({ scrape }) => scrape()));
  clock.now += 25_000;
  await Promise.all(workers.map(({ endPoll }) => endPoll()));
  clock.now += 34_000;
  expect(await second?.scrape(), 'the other is scraped a moment later').toBeNull();
  expect(await first?.scrape()).toBe(counts);
});

it('many scrapes hold one election in ten seconds', async () => {
  const { workers, asked, clock } = stage('a');
  for (let scrape = 0; scrape < 20; scrape += 1) {
    await workers[0]?.scrape();
    clock.now += 1_000;
  }
  expect(asked.lists).toBe(2);
});

it('a worker counts where the server refuses to show who polls, and not while it does not answer', async () => {
  const refuses = stage('a');
  refuses.state.fails = Object.assign(new Error('denied'), { code: 7, details: 'denied', metadata: {} });
  expect(await refuses.workers[0]?.scrape()).toBe(counts);
  const silent = stage('a');
  silent.state.fails = Object.assign(new Error('busy'), { code: 8, details: 'busy', metadata: {} });
  expect(await silent.workers[0]?.scrape()).toBeNull();
});
