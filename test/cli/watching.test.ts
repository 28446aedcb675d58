import { expect, it } from 'vitest';
import { type CliProcess, createContext, type Session } from '../../src/cli/command.js';
import { watchRun } from '../../src/cli/watching.js';
import type { FoundRun } from '../../src/temporal/runs.js';

/** Watches a run that answers with these, one for each look; Ctrl-C comes at the end of the list. */
async function watch(answers: (string | null)[]) {
  const printed: string[] = [];
  let notes = '';
  let interrupt = (): void => undefined;
  const around = {
    env: {},
    stdout: { write: String },
    stderr: { write: (text: string) => (notes += text) },
    onInterrupt: (act: () => void) => {
      interrupt = act;
      return String;
    },
  } as unknown as CliProcess;
  const session = { connection: { withAbortSignal: (_: unknown, act: () => unknown) => act() } } as unknown as Session;
  let looks = 0;
  const exitCode = await watchRun(createContext(around, {}), session, {
    farewell: 'farewell',
    async find() {
      if (looks === answers.length) interrupt();
      return { isOpen: answers[looks] !== 'ended', version: String(looks) } as FoundRun;
    },
    ask: async () => answers[looks++] ?? null,
    print: (answer) => void printed.push(answer),
  });
  return { exitCode, printed, notes };
}

it('a watched run is asked after each change until it has ended', async () => {
  expect(await watch(['Driving', 'ended'])).toEqual({ exitCode: 0, printed: ['Driving', 'ended'], notes: '' });
});

it('a watched run without a worker is watched on, until a person interrupts', async () => {
  const { exitCode, printed, notes } = await watch([null]);
  expect({ exitCode, printed }).toEqual({ exitCode: 130, printed: [] });
  expect(notes).toBe('no worker answers; changes appear once one runs: npm run worker\nfarewell\n');
});
