import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { shellWord } from '../../../src/domain/shell-word.js';

// The file with the settings of the stack, for commands in other terminals.

/** Lists the settings that a stack made. Processes pass over variables with this beginning. */
const ownSettings = 'FARETRAIL_SANDBOX_STACK';

const markOf = (name: string, value: string): string =>
  createHash('sha256').update(`${name}=${value}`).digest('hex').slice(0, 12);

/** Writes the settings as a shell reads them. It holds local keys and credentials of the sandbox, so only this user can read it. */
export function writeLocalEnv(file: string, env: Readonly<Record<string, string>>): void {
  const marks = Object.entries(env).map(([name, value]) => markOf(name, value));
  const lines = Object.entries({ ...env, [ownSettings]: marks.join(',') });
  writeFileSync(file, lines.map(([name, value]) => `${name}=${shellWord(value)}\n`).join(''), { mode: 0o600 });
}

export const readLocalEnv = (file: string): Readonly<Record<string, string | undefined>> =>
  existsSync(file) ? parseEnv(readFileSync(file, 'utf8')) : {};

/** Takes what a stack made out of the environment of a shell that has loaded the file. Returns how many settings these were. */
export function dropOwnSettings(env: NodeJS.ProcessEnv): number {
  const marks = new Set(env[ownSettings]?.split(','));
  const own = Object.entries(env).filter(([name, value]) => marks.has(markOf(name, value ?? '')));
  for (const [name] of own) delete env[name];
  delete env[ownSettings];
  return own.length;
}
