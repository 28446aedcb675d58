import { setTimeout as sleep } from 'node:timers/promises';
import { FaretrailClientError } from '../../../src/client/index.js';

/** The answer to a caller's request. */
export type Answer<T> = { value: T } | { code: string; message: string };

const pauseMs = 300;

/**
 * Repeats a request until it gets an answer, as a caller does while its Temporal server is in trouble. Refusals are answers.
 * `until`: when the caller gives up, in milliseconds since the epoch.
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
