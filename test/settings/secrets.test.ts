import { Buffer } from 'node:buffer';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Env, loadCliConfig, loadConfig, loadWorkerConfig } from '../../src/config.js';
import {
  businessEnv,
  configErrorOf,
  encodedKey,
  expectProblem,
  files,
  notifyEnv,
  partnerEnv,
  problemsOf,
  sealingEnv,
} from './env.js';

const keys = `k1:${encodedKey(1)}`;
const keySettings = ['SEALING_KEYS', 'WEBHOOK_KEYS', 'NOTIFY_SECRETS', 'PAYLOAD_KEYS'].map((end) => `FARETRAIL_${end}`);
const { FARETRAIL_PARTNER_CLIENT_SECRET: _, ...withoutSecret } = partnerEnv;

describe('key rings', () => {
  it('keep the order of their keys, of which the first one seals', () => {
    const { sealingKeys, notify } = loadConfig({ ...sealingEnv, ...notifyEnv });
    const shown = [sealingKeys, notify.secrets].map((ring) => ring?.map(({ kid, key }) => `${kid}: ${key.length}`));
    expect(shown).toEqual([
      ['k2: 32', 'k1: 32'],
      ['n2: 32', 'n1: 24'],
    ]);
  });

  const ofBytes = (count: number) => `k1:${Buffer.alloc(count, 1).toString('base64url')}`;
  it.each([
    ['WEBHOOK_KEYS', 'a key that is too short', ofBytes(31), 'entry 1 must hold 32 bytes'],
    ['WEBHOOK_KEYS', 'a key in padded base64', `${keys}=`, 'entry 1 must hold 32 bytes'],
    ['WEBHOOK_KEYS', 'a key without a kid', encodedKey(1), 'entry 1 must be kid:key'],
    ['WEBHOOK_KEYS', 'an empty entry', `${keys},`, 'entry 2 must be kid:key'],
    ['WEBHOOK_KEYS', 'a kid given twice', `${keys},k1:${encodedKey(2)}`, 'entry 2 has the kid of entry 1'],
    ['WEBHOOK_KEYS', 'a key given twice', `${keys},k2:${encodedKey(1)}`, 'entry 2 has the key of entry 1'],
    ['NOTIFY_SECRETS', 'a secret that is too short', ofBytes(23), 'entry 1 must hold 24 to 64 bytes as base64url'],
    ['NOTIFY_SECRETS', 'a secret that is too long', ofBytes(65), 'entry 1 must hold 24 to 64 bytes as base64url'],
    ['NOTIFY_SECRETS', 'no base64url', `n1:${'+'.repeat(43)}`, 'entry 1 must hold 24 to 64 bytes as base64url'],
    ['NOTIFY_SECRETS', 'a length of no base64url', `n1:${'A'.repeat(33)}`, 'entry 1 must hold 24 to 64 bytes'],
    ['NOTIFY_SECRETS', 'the form of receivers', `n1:whsec_${'A'.repeat(43)}=`, 'entry 1 must hold 24 to 64 bytes'],
  ])('are refused by position and without the value: %s with %s', (end, _case, value, problem) => {
    const load = () => loadConfig({ [`FARETRAIL_${end}`]: value });
    expectProblem(load, `FARETRAIL_${end}: ${problem}`);
    expect(problemsOf(load).join()).not.toContain(value.slice(3));
  });

  // Receivers hold the secrets of notices: they must not be able to open tokens, nor to make addresses of the ingress.
  // Dispatchers' sessions must not open with what callers hold.
  const lists = ['SEALING_KEYS', 'WEBHOOK_KEYS', 'NOTIFY_SECRETS', 'PAYLOAD_KEYS', 'DESK_KEYS'];
  const pairs = lists.flatMap((one, at) => lists.slice(at + 1).map((other) => [one, other] as const));
  it.each(pairs)('are refused when one key serves two purposes: %s and %s', (one, other) => {
    const env = {
      [`FARETRAIL_${one}`]: `k2:${encodedKey(2)},${keys}`,
      [`FARETRAIL_${other}_FILE`]: '/run/other',
    };
    const load = () => loadConfig(env, files({ '/run/other': `other:${encodedKey(1)}` }));
    expectProblem(load, `FARETRAIL_${other}_FILE: holds a key of FARETRAIL_${one};`);
  });
});

describe('secrets in files', () => {
  const readFile = files({ '/run/keys': `${keys}\n`, '/run/short': 'k1:short', '/run/empty': '\n' });

  it.each(keySettings)('give the same keys as a variable: %s_FILE', (name) => {
    expect(loadConfig({ [`${name}_FILE`]: '/run/keys' }, readFile)).toEqual(loadConfig({ [name]: keys }));
  });

  it('lose one newline at their end, while a variable keeps every blank', () => {
    const secretOf = (env: Env, content = '') =>
      loadConfig({ ...withoutSecret, ...env }, files({ '/run/secret': content })).accounts[0]?.clientSecret;
    const inFile = { FARETRAIL_PARTNER_CLIENT_SECRET_FILE: '/run/secret' };
    const contents = ['word\n', 'word\r\n', ' word'];
    expect(contents.map((content) => secretOf(inFile, content))).toEqual(['word', 'word', ' word']);
    expect(secretOf({ FARETRAIL_PARTNER_CLIENT_SECRET: ' word ' })).toBe(' word ');
  });

  const sealing = 'FARETRAIL_SEALING_KEYS_FILE';
  const secret = 'FARETRAIL_PARTNER_CLIENT_SECRET_FILE';
  it.each([
    [sealing, '/run/none', 'the file cannot be read (ENOENT)'],
    [sealing, '/run/empty', 'the file is empty'],
    [sealing, '/run/short', 'entry 1 must hold 32 bytes'],
    [secret, '/run/none', 'the file cannot be read (ENOENT)'],
    [secret, '/run/empty', 'the file is empty'],
  ])('are one problem of their setting when they cannot be read or hold no secret: %s=%s', (name, path, problem) => {
    const env = { ...(name === secret ? withoutSecret : partnerEnv), [sealing]: '/run/keys', [name]: path };
    expectProblem(() => loadWorkerConfig(env, readFile), `${name}: ${problem}`);
  });

  const all = [...keySettings, 'FARETRAIL_PARTNER_CLIENT_SECRET', 'FARETRAIL_CODEC_TOKEN'];
  it.each(all)('are refused together with the variable %s', (name) => {
    const env = { ...partnerEnv, [name]: keys, [`${name}_FILE`]: '/run/keys' };
    expectProblem(() => loadConfig(env, readFile), `${name}: set together with ${name}_FILE; keep one of them`);
  });
});

/** Random, so that it cannot be part of a problem's own words. */
const secret = fc.uint8Array({ minLength: 24, maxLength: 24 }).map((bytes) => Buffer.from(bytes).toString('base64url'));

const print = (value: unknown): string => `${JSON.stringify(value)} ${inspect(value, { depth: 9 })} ${String(value)}`;

/** Every setting: the names that loading looks up. */
function settingNames(): string[] {
  const names: string[] = [];
  loadCliConfig(new Proxy({}, { get: (_, name) => void names.push(String(name)) }));
  return names;
}

describe('a secret is not shown', () => {
  it('in a printed config', () => {
    const place = { clientSecret: { file: '/run/a' } };
    const acme = { interface: 'partner', baseUrl: 'https://a.example', clientId: 'a', ...place };
    const env = {
      ...partnerEnv,
      ...businessEnv,
      ...notifyEnv,
      FARETRAIL_ACCOUNTS_FILE: 'accounts.json',
      FARETRAIL_SEALING_KEYS: keys,
      FARETRAIL_PAYLOAD_KEYS: `p1:${encodedKey(3)}`,
      FARETRAIL_CODEC_TOKEN: 'token-of-the-codec-endpoint-with-32-letters',
      FARETRAIL_STORE_URL: 'postgresql://faretrail:HIDDEN@db.example/rides',
    };
    const readFile = files({ 'accounts.json': JSON.stringify({ accounts: { acme } }), '/run/a': 'acme-secret' });
    const config = loadWorkerConfig(env, readFile);
    const clientSecrets = config.accounts.map(({ clientSecret }) => clientSecret);
    expect(clientSecrets).toEqual(['partner-secret', 'business-secret', 'acme-secret']);
    const text = print(config);
    const encoded = [1, 3, 8].map(encodedKey);
    const bytes = [1, 3, 8].flatMap((byte) => [',', ', '].map((comma) => Array(8).fill(byte).join(comma)));
    for (const hidden of [...clientSecrets, env.FARETRAIL_CODEC_TOKEN, 'HIDDEN', ...encoded, ...bytes])
      expect(text).not.toContain(hidden);
  });

  it('in a problem, whichever setting it was put in by mistake', () => {
    fc.assert(
      fc.property(fc.constantFrom(...settingNames()), secret, (name, value) => {
        const env: Env = { ...partnerEnv, ...businessEnv, FARETRAIL_SEALING_KEYS: 'k1:short', [name]: value };
        expect(print(configErrorOf(() => loadConfig(env, files({}))))).not.toContain(value);
      }),
    );
  });

  it('in a problem of the accounts file', () => {
    const places = [secret.map((env) => ({ env })), secret.map((file) => ({ file }))];
    const clientSecret = fc.oneof(
      secret,
      ...places,
      secret.map((env) => ({ env, more: env })),
    );
    const kind = fc.constantFrom('partner', 'business', 'fleet');
    const fields = {
      interface: kind,
      baseUrl: secret,
      clientId: secret,
      clientSecret,
      untracked: secret,
      poll: secret,
    };
    const account = fc.record(fields, { requiredKeys: [] });
    fc.assert(
      fc.property(account, (acme) => {
        const content = JSON.stringify({ accounts: { acme } });
        const env = { FARETRAIL_ACCOUNTS_FILE: 'accounts.json', FARETRAIL_SEALING_KEYS: keys };
        for (const text of [content, content.slice(0, -1), content.replaceAll('"', "'")]) {
          const printed = print(configErrorOf(() => loadWorkerConfig(env, files({ 'accounts.json': text }))));
          for (const [, value] of content.matchAll(/"([\w-]{32})"/g)) expect(printed).not.toContain(value);
        }
      }),
    );
  });
});
