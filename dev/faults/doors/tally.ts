import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';

/** What every actor knows besides its door. */
export interface Task {
  seed: number;
  forMs: number;
}

/** What an actor did, and what it was told. */
export interface Tale {
  tried: number;
  /** How often each answer came, by status or by the reason for none. */
  answers: Record<string, number>;
  /** The texts of the answers, for a search. */
  heard: string;
}

/** Enough to find a leak, and not all that a door may send. */
const heardAtMost = 50_000_000;
const answerWithinMs = 15_000;

/** Counts what the tries of an actor came to. */
export function openTally() {
  const tale: Tale = { tried: 0, answers: {}, heard: '' };
  const count = (answer: string): void => {
    tale.answers[answer] = (tale.answers[answer] ?? 0) + 1;
  };
  return {
    tale,
    hear(text: string): void {
      if (tale.heard.length < heardAtMost) tale.heard += text;
    },
    /** Makes one try; resolves whatever comes. `attempt` gives its answer in a word. */
    async make(attempt: () => Promise<string>): Promise<void> {
      tale.tried += 1;
      const late = sleep(answerWithinMs, 'no answer in 15 s', { ref: false });
      count(await Promise.race([attempt().catch((error: Error) => error.name), late]));
    },
  };
}

/** Draws tries from the grammar until the time is over: so many at once, `perSecond` at most. */
export async function tryAll<Try>(
  { seed, forMs }: Task,
  { grammar, lanes, perSecond }: { grammar: fc.Arbitrary<Try>; lanes: number; perSecond: number },
  make: (one: Try) => Promise<void>,
): Promise<void> {
  const until = performance.now() + forMs;
  const everyMs = (lanes * 1_000) / perSecond;
  const batch = 50;
  await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      for (let round = 0; performance.now() < until; round += 1) {
        const draws = fc.sample(grammar, { seed: seed + lane * 10_007 + round * 101, numRuns: batch });
        for (const one of draws) {
          if (performance.now() >= until) return;
          await Promise.all([make(one), sleep(everyMs)]);
        }
      }
    }),
  );
}
