import { setTimeout as sleep } from 'node:timers/promises';
import { FaretrailClientError } from '../src/client/index.js';

/** What became of something that a caller wanted. */
export type Answer<T> = { value: T } | { code: string; message: string };

const pauseMs = 300;

/**
 * Asks again until there is an answer, as a service does that lives beside a Temporal server in trouble. Refusals are answers.
 * `until`: when to give up, in milliseconds since the epoch.
 */
export async function insist<T>(act: () => Promise<T>, until: () => number): Promise<Answer<T>> {
  for (;;) {
    try {
      return { value: await act() };
    } catch (error) {
      const isAnswer = error instanceof FaretrailClientError && error.code !== 'NoAnswer';
      if (isAnswer) return { code: error.code, message: error.message };
      if (Date.now() > until()) return { code: 'GaveUp', message: String(error) };
      await sleep(pauseMs);
    }
  }
}
