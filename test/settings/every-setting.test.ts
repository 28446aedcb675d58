import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { type Env, loadCliConfig, loadConfig, loadIngressConfig, loadWorkerConfig } from '../../src/config.js';
import { FaretrailError } from '../../src/domain/errors.js';
import { mayBeInFile, type SettingKind, settings } from '../../src/settings/list.js';
import { loadTemporalSettings } from '../../src/temporal/settings.js';
import { textFile } from '../support/json-file.js';
import { goodEnv, spoilt } from '../support/settings.js';

// Each program reads all of its settings before it does anything else, so what it says of one can be had without the process.
// `test/processes/starts.test.ts` starts the real ones.
const programs = {
  worker: loadWorkerConfig,
  ingress: loadIngressConfig,
  desk: loadCliConfig,
  commands: loadConfig,
} as const;
const traced = ['worker', 'ingress'];

/** All that was read, with what is hidden from logs. */
const shown = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return value.map(shown);
  return Object.fromEntries(Object.getOwnPropertyNames(value).map((name) => [name, shown(Reflect.get(value, name))]));
};

interface Outcome {
  /** What was read. */
  read?: string;
  /** What the person is told. */
  said?: string;
}

function start(load: (env: Env) => unknown, env: Env): Outcome {
  try {
    const { connectionOptions, namespace } = loadTemporalSettings(env);
    return { read: JSON.stringify(shown([load(env), connectionOptions, namespace])) };
  } catch (error) {
    if (error instanceof FaretrailError) return { said: error.message };
    throw error; // a stack
  }
}

const everything = goodEnv(tmpdir());
const without = (name: string): Env => ({ ...everything, [name]: undefined });
/** The word stands for every value that is of another type. */
const ofAnotherType = 'SECRET-OF-ANOTHER-TYPE';
const neverText: readonly SettingKind[] = ['word', 'number', 'port', 'url', 'keys', 'file', 'list'];

describe.each(Object.entries(programs))('a %s', (program, load) => {
  const looked = Object.entries(settings).filter(([name]) => !name.startsWith('OTEL_') || traced.includes(program));

  it('starts where every setting is good, also with those in files that may be', () => {
    const inFiles = Object.keys(settings).filter((name) => mayBeInFile(settings[name] as never));
    expect(start(load, everything).said).toBeUndefined();
    expect(start(load, goodEnv(tmpdir(), inFiles)).said).toBeUndefined();
  });

  it.each(looked)('with %s in any bad form reads it as it was meant, or names it', (name, about) => {
    const meant = everything[name] ?? '';
    const faults: string[] = [];
    const check = (how: string, env: Env, value: string, isMeant: (outcome: Outcome) => boolean) => {
      const outcome = start(load, env);
      if (isMeant(outcome)) return;
      if (outcome.said === undefined) faults.push(`${how}: read as something else`);
      else if (!outcome.said.includes(`${name}`)) faults.push(`${how}: not named: ${outcome.said}`);
      else if (about.kind !== 'word' && value.length > 4 && outcome.said.includes(value))
        faults.push(`${how}: shows the value`);
    };
    const read = start(load, everything).read;
    const unset = start(load, without(name)).read;
    for (const [how, spoil] of Object.entries(spoilt)) {
      const value = spoil(meant);
      const isUnset = value === null || value === '';
      const env = value === null ? without(name) : { ...everything, [name]: value };
      check(how, env, meant, (outcome) => outcome.said === undefined && outcome.read === (isUnset ? unset : read));
      if (!mayBeInFile(about) || isUnset) continue;
      const inFile = { ...without(name), [`${name}_FILE`]: textFile(value) };
      check(`${how}, in a file`, inFile, meant, (outcome) => outcome.read === read);
    }
    if (neverText.includes(about.kind))
      check('of another type', { ...everything, [name]: ofAnotherType }, ofAnotherType, () => false);
    const paths = mayBeInFile(about) ? [`${name}_FILE`] : about.kind === 'file' ? [name] : [];
    for (const path of paths)
      for (const [how, place] of Object.entries({ 'a folder': tmpdir(), 'no file': '/nonexistent/SECRET' }))
        check(how, { ...without(name), [path]: place }, place, (outcome) => outcome.read === unset);
    expect(faults).toEqual([]);
  });
});
