// Plays random courses. Stops at the first one that breaks a promise, and prints the simplest such course it can find.
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { Command, InvalidArgumentError } from 'commander';
import * as workflows from '../../src/workflows/index.js';
import { interceptors } from '../../src/workflows/interceptors.js';
import { installTimers } from './clock/timers.js';
import type { Violation } from './course/scenario.js';
import { scenarios } from './course/scenarios.js';
import { workerConfig } from './world/settings.js';

interface Flags {
  minutes: number;
  seed?: number;
  seeds?: number;
}

const second = 1_000;
const progressEveryMs = 10 * second;
const simplifyForMs = 120 * second;

const shownViolations = 5;
const toText = ({ promise, what }: Violation): string => `  ${promise}: ${what}`;
const isSome = <T>(list: T[]): list is [T, ...T[]] => list.length > 0;

const number = (text: string): number => {
  const value = Number(text);
  if (!Number.isFinite(value) || value <= 0) throw new InvalidArgumentError('must be a positive number');
  return value;
};

const command = new Command('sim')
  .description('Plays random courses on a virtual clock, and checks that every promise holds.')
  .argument('[scenario]', `one of: ${Object.keys(scenarios).join(', ')} (default: all)`)
  .option('--minutes <n>', 'how long it lasts', number, 1)
  .option('--seed <n>', 'the first seed (default: a random one)', number)
  .option('--seeds <n>', 'how many seeds of each scenario, in place of --minutes', number)
  .allowExcessArguments(false)
  .parse();
const { minutes, seed: given, seeds } = command.opts<Flags>();
const [wanted] = command.args;
if (wanted !== undefined && !(wanted in scenarios))
  command.error(`error: no scenario ${wanted}; choose one of: ${Object.keys(scenarios).join(', ')}`);

const firstSeed = given ?? Math.floor(Math.random() * 1e9) + 1;
const chosen = Object.entries(scenarios)
  .filter(([name]) => wanted === undefined || name === wanted)
  .map(([name, scenario]) => ({ name, scenario, played: 0, spentMs: 0 }));
const startedAt = performance.now();
const elapsedMs = (): number => performance.now() - startedAt;
/** Undefined: it is over. In a given time, each scenario gets the same share of it. */
const nextScenario = (): (typeof chosen)[number] | undefined => {
  const [first] = chosen.toSorted((one, other) =>
    seeds === undefined ? one.spentMs - other.spentMs : one.played - other.played,
  );
  const isOver = seeds === undefined ? elapsedMs() >= minutes * 60 * second : (first?.played ?? 0) >= seeds;
  return isOver ? undefined : first;
};
const playedText = (): string => chosen.map(({ name, played }) => `${played} of ${name}`).join(', ');

installTimers();
// What our processes log would hide what was found.
Runtime.install({ logger: new DefaultLogger('ERROR') });
const parts = { config: workerConfig(), code: { workflows, interceptors } };
const met = new Map<string, number>();
let hash = 0;
let shownAt = 0;
for (let next = nextScenario(); next; next = nextScenario()) {
  const { name, scenario } = next;
  const seed = firstSeed + next.played;
  const beganAt = performance.now();
  const result = await scenario.play(seed, parts);
  next.played += 1;
  next.spentMs += performance.now() - beganAt;
  for (const kind of result.met) met.set(kind, (met.get(kind) ?? 0) + 1);
  hash = Math.imul(hash ^ result.hash, 16_777_619) >>> 0;
  if (elapsedMs() - shownAt >= progressEveryMs) {
    shownAt = elapsedMs();
    console.error(`sim: ${playedText()} in ${Math.round(shownAt / second)} s`);
  }
  const { violations } = result;
  if (!isSome(violations)) continue;
  console.log(
    `\nSeed ${seed} of ${name} breaks a promise:\n${violations.slice(0, shownViolations).map(toText).join('\n')}`,
  );
  console.error('sim: looking for a simpler course');
  const { violation, text } = await scenario.simplify({ ...result, violations }, parts, simplifyForMs);
  console.log(`\nThe simplest course found:\n${toText(violation)}\n\n${text}`);
  console.log(`\nRepeat it: npm run sim -- ${name} --seed ${seed} --seeds 1`);
  process.exit(1);
}
const kinds = [...met].sort(([, one], [, other]) => other - one).map(([kind, times]) => `  ${kind}: ${times}`);
console.log(`${playedText()}, seeds from ${firstSeed}: every promise held`);
console.log(
  `in ${Math.round(elapsedMs() / second)} s, hash ${hash.toString(16)}; courses that met:\n${kinds.join('\n')}`,
);
process.exit(0);
