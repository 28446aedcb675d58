import { InvalidArgumentError } from 'commander';
import { progress } from '../stack/run/progress.js';

/** Takes the end of something that was started. The ends run in reverse order. */
export type OnEnd = (end: () => unknown) => void;

/** A list of ends, and what runs all of them once. */
export function openEnds(say: (line: string) => void): { onEnd: OnEnd; endAll(): Promise<void> } {
  const ends: (() => unknown)[] = [];
  let ending: Promise<void> | undefined;
  return {
    onEnd: (end) => void ends.unshift(end),
    endAll() {
      ending ??= (async () => {
        for (const end of ends) await (async () => end())().catch((error: Error) => say(error.message));
      })();
      return ending;
    },
  };
}

/** What each profile of the faults runs in. */
export interface Profile {
  /** Prints one line of progress. */
  say(line: string): void;
  onEnd: OnEnd;
  /** True after Ctrl-C; later failures are a result of the stop. */
  isStopped(): boolean;
  /** Runs it, ends all that it has started, also after Ctrl-C, and ends the process with its exit code. */
  exitWith(run: () => Promise<number>): Promise<never>;
}

const interrupted = 130;

export function openProfile(name: string): Profile {
  const say = progress(name);
  const { onEnd, endAll } = openEnds(say);
  let isStopped = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      isStopped = true;
      say('stopping');
      void endAll().finally(() => process.exit(interrupted));
    });
  return {
    ...{ say, onEnd, isStopped: () => isStopped },
    async exitWith(run) {
      const code = await run().catch((error: unknown) => {
        if (!isStopped) console.error(error);
        return 1;
      });
      await endAll();
      process.exit(isStopped ? interrupted : code);
    },
  };
}

/** Reads a number of the command line, above 0. */
export function numberUpTo(max: number, { isWhole }: { isWhole: boolean }): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (number > 0 && number <= max && (!isWhole || Number.isInteger(number))) return number;
    throw new InvalidArgumentError(`must be a ${isWhole ? 'whole ' : ''}number above 0 and up to ${max}.`);
  };
}

/** The seed of a plan. */
export const seedFlag = [
  '--seed <n>',
  'the same seed and time give the same faults and work',
  numberUpTo(2 ** 31, { isWhole: true }),
  1,
] as const;

/** Reads words that are all known. */
export const someOf =
  <Word extends string>(known: readonly Word[]) =>
  (text: string): Word[] => {
    const asked = text.split(',').map((word) => known.find((one) => one === word.trim()));
    if (asked.every((word) => word !== undefined)) return asked;
    throw new InvalidArgumentError(`must be some of ${known.join(', ')}.`);
  };
