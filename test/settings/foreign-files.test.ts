import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config.js';
import { loadTemporalSettings } from '../../src/temporal/settings.js';
import { runHere } from '../cli/fake-process.js';
import { encodedKey, partnerEnv, problemsOf } from './env.js';

// Files and values as other systems write them: read as they are meant, or refused by name.

const folder = mkdtempSync(join(tmpdir(), 'faretrail-files-'));
let written = 0;
function fileOf(bytes: Buffer): string {
  written += 1;
  const path = join(folder, String(written));
  writeFileSync(path, bytes);
  return path;
}

const forms: Record<string, (text: string) => Buffer> = {
  'UTF-8': (text) => Buffer.from(text),
  'UTF-8 with a byte order mark': (text) => Buffer.from(`\ufeff${text}`),
  'UTF-16, the low byte first': (text) => Buffer.from(`\ufeff${text}`, 'utf16le'),
  'UTF-16, the high byte first': (text) => Buffer.from(`\ufeff${text}`, 'utf16le').swap16(),
  'Windows line ends': (text) => Buffer.from(text.replaceAll('\n', '\r\n')),
};

const account = (clientSecret: object, clientId = 'id') => ({
  accounts: { ours: { interface: 'partner', baseUrl: 'https://partner.example', clientId, clientSecret } },
});
const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

describe.each(Object.entries(forms))('files in %s', (_, form) => {
  it('hold accounts, a contract profile, secrets and keys', () => {
    const config = loadConfig({
      FARETRAIL_ACCOUNTS_FILE: fileOf(form(json(account({ file: fileOf(form('a-secret-ü\n')) })))),
      FARETRAIL_CONTRACT_FILE: fileOf(form(json({ limits: { requestsPerSecond: 7 } }))),
      FARETRAIL_SEALING_KEYS_FILE: fileOf(form(`k1:${encodedKey(1)}\n`)),
    });
    expect(config.accounts.map(({ clientSecret }) => clientSecret)).toEqual(['a-secret-ü']);
    expect(config.profile.limits.requestsPerSecond).toBe(7);
    expect(config.sealingKeys?.map(({ kid, key }) => [kid, key.length])).toEqual([['k1', 32]]);
  });

  it('are the input of a command', async () => {
    const input = fileOf(form(json({ requestId: 7 })));
    const { exitCode, stderr } = await runHere(['ride', 'request', 'ours', '--input', input, '--json'], {});
    expect({ exitCode, stderr }).toEqual({
      exitCode: 2,
      stderr: expect.stringMatching(/body.category: must be a text/),
    });
  });
});

it.each([
  ['UTF-16 without a byte order mark', Buffer.from('"a"', 'utf16le'), 'UTF-16 without a byte order mark'],
  ['another encoding', Buffer.from('"Zürich"', 'latin1'), 'the file is not in UTF-8; save it as UTF-8'],
])('a file in %s is refused by the name of its setting', (_, bytes, why) => {
  for (const name of ['FARETRAIL_ACCOUNTS_FILE', 'FARETRAIL_CONTRACT_FILE', 'FARETRAIL_SEALING_KEYS_FILE']) {
    const [problem, ...more] = problemsOf(() => loadConfig({ [name]: fileOf(bytes) }));
    expect(problem).toContain(name);
    expect(problem).toContain(why);
    expect(more).toEqual([]);
  }
});

/** What env files, shells and editors leave around a value. */
const strays: [form: string, damage: (value: string) => string, why: string][] = [
  ['a carriage return at its end', (value) => `${value}\r`, 'ends with a line break'],
  ['a line end', (value) => `${value}\n`, 'ends with a line break'],
  ['double quotes', (value) => `"${value}"`, 'has quotes around it'],
  ['single quotes', (value) => `'${value}'`, 'has quotes around it'],
  ['a control character', (value) => `${value}\x1b[A`, 'holds a character that cannot be seen'],
  ['a byte order mark', (value) => `\ufeff${value}`, 'holds a character that cannot be seen'],
];
const values: Record<string, string> = {
  ...(partnerEnv as Record<string, string>),
  FARETRAIL_BUSINESS_ID: '7b0c1d7e-5a53-4d7e-9d0c-1f2a3b4c5d6e',
  FARETRAIL_SEALING_KEYS: `k1:${encodedKey(1)}`,
  FARETRAIL_TASK_QUEUE: 'rides',
  FARETRAIL_PUBLIC_URL: 'https://rides.example',
  FARETRAIL_STORE_URL: 'postgresql://user:a-password@db.example/rides',
  FARETRAIL_INGRESS_PORT: '8480',
  FARETRAIL_JOURNAL_DIR: '/tmp/journal',
};

describe.each(strays)('a value with %s', (_, damage, why) => {
  it.each(Object.entries(values))('is refused once, by its name %s, and never told', (name, value) => {
    const problems = problemsOf(() => loadConfig({ ...partnerEnv, [name]: damage(value) }));
    const ofName = problems.filter((problem) => problem.startsWith(`${name}:`));
    expect(ofName).toEqual([expect.stringContaining(why)]);
    expect(problems.join()).not.toContain(value);
  });

  it('is refused where it leads to Temporal', () => {
    const load = () => loadTemporalSettings({ TEMPORAL_API_KEY: damage('key-of-ours') });
    expect(load).toThrow(`TEMPORAL_API_KEY: ${why}`);
    expect(load).not.toThrow(/of-ours/);
  });

  it('is refused in the accounts file and in the places of its secrets', () => {
    const [id, secret] = ['an-id-of-ours', 'a-secret-of-ours'];
    const load = (clientSecret: object, clientId = 'id', env = {}) =>
      problemsOf(() =>
        loadConfig({ FARETRAIL_ACCOUNTS_FILE: fileOf(Buffer.from(json(account(clientSecret, clientId)))), ...env }),
      );
    const file = { file: fileOf(Buffer.from(`${damage(secret)}\n`)) };
    const place = 'FARETRAIL_ACCOUNTS_FILE: accounts.ours.clientSecret: ';
    const all = [
      load({ file: fileOf(Buffer.from(secret)) }, damage(id)),
      load({ env: 'PLACE' }, 'id', { PLACE: damage(secret) }),
      ...(damage(secret).startsWith('\ufeff') || damage(secret).endsWith('\r') ? [] : [load(file)]), // as files are written
    ];
    expect(all.map(([first]) => first)).toEqual([
      expect.stringMatching(/^FARETRAIL_ACCOUNTS_FILE: accounts.ours.clientId: /),
      ...all.slice(1).map(() => expect.stringContaining(why)),
    ]);
    for (const [first] of all.slice(1)) expect(first).toContain(place);
    expect(all.flat().join()).not.toMatch(/of-ours/);
    expect(all.map((problems) => problems.length)).toEqual(all.map(() => 1));
  });
});
