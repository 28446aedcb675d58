import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { runHere } from './fake-process.js';

const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];

/** Among the temporary files of the test run, which takes them all away at its end. */
const folder = mkdtempSync(join(tmpdir(), 'faretrail-shells-'));

/** Starts a real shell, loads the script and prints what it offers behind `words`, of which the last is being typed. */
const offers: Record<Shell, (file: string, words: readonly string[]) => string> = {
  bash: (file, words) => `. ${file}; COMP_WORDS=(${quoted(['faretrail', ...words])}); COMP_CWORD=${words.length}
    _faretrail; printf '%s\\n' "\${COMPREPLY[@]}"`,
  zsh: (file, words) => `compdef() { :; }; compadd() { shift; print -l -- $@; }; _files() { print FILES; }
    . ${file}; words=(${quoted(['faretrail', ...words])}); CURRENT=${words.length + 1}; _faretrail`,
  fish: (file, words) => `source ${file}; complete -C ${quoted([['faretrail', ...words].join(' ')])}`,
};
const quoted = (words: readonly string[]) => words.map((word) => `'${word}'`).join(' ');

function complete(shell: Shell, words: readonly string[]): string[] {
  const { stdout, stderr } = spawnSync(shell, ['-c', offers[shell](join(folder, shell), words)], {
    encoding: 'utf8',
    cwd: folder,
  });
  expect(stderr).toBe('');
  const typed = words.at(-1) ?? '';
  return stdout
    .split('\n')
    .flatMap((line) => line.split('\t')[0] ?? '')
    .filter((word) => word.startsWith(typed) && word !== '');
}

beforeAll(async () => {
  writeFileSync(join(folder, 'order.json'), '{}');
  for (const shell of shells) {
    writeFileSync(join(folder, shell), (await runHere(['completion', shell])).stdout);
  }
});

const withVerbs = ['order', 'ride', 'subscription', 'delivery', 'notice', 'token'];
const nouns = [
  ...withVerbs,
  'call',
  'attention',
  'doctor',
  'probe',
  'reconcile',
  'replay',
  'erase',
  'codec',
  'completion',
];
const verbs = ['follow', 'import', 'show', 'watch', 'refresh', 'stop', 'list'];

describe.each(shells)('completion of %s', (shell) => {
  const given = it.skipIf(spawnSync(shell, ['-c', 'true']).status !== 0); // the machine does not have it
  given.each<[string[], string[]]>([
    [[''], nouns],
    [['order', ''], verbs],
    [['order', 'stop', 'partner', '42', '--r'], ['--reason']],
    [['subscription', 'create', '--public-url', 'https://rides.example', 'business', 'b'], ['business_report']],
    [['call', 'business', 'create'], ['createOrder']],
    [['completion', ''], [...shells]],
    [['order', 'list', '--status', ''], []],
  ])('offers behind %j: %j', (words, offered) => {
    expect(complete(shell, words).sort()).toEqual([...offered].sort());
  });

  given('offers files where a file is expected', () => {
    expect(complete(shell, ['ride', 'request', 'business', '--input', ''])).toContain(
      shell === 'zsh' ? 'FILES' : 'order.json',
    );
  });
});
