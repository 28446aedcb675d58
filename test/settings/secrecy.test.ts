import { Buffer } from 'node:buffer';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ConfigError, type Env, loadConfig, loadWorkerConfig } from '../../src/config.js';
import { settingNames } from '../../src/settings/setting-names.js';
import { businessEnv, encodedKey, files, partnerEnv } from './env.js';

/** Random, so that it cannot be part of a problem's own words. */
const secret = fc.uint8Array({ minLength: 24, maxLength: 24 }).map((bytes) => Buffer.from(bytes).toString('base64url'));

const print = (value: unknown): string => `${JSON.stringify(value)} ${inspect(value, { depth: 9 })} ${String(value)}`;

function printedError(load: () => unknown): string {
  try {
    load();
  } catch (error) {
    if (error instanceof ConfigError) return print(error) + error.problems.join('\n');
    throw error;
  }
  throw new Error('loading reported no problem');
}

it('shows no secret in a printed config', () => {
  const key = fc.uint8Array({ minLength: 32, maxLength: 32 });
  fc.assert(
    fc.property(secret, secret, secret, secret, key, (inEnv, inFile, notifySecret, token, bytes) => {
      const others = bytes.map((byte) => byte ^ 255); // one key must not serve two purposes
      const encoded = Buffer.from(bytes).toString('base64url');
      const payloadKey = Buffer.from(others).toString('base64url');
      const of = { interface: 'partner', baseUrl: 'https://a.example', clientId: 'a' };
      const acme = { ...of, clientSecret: { file: '/run/a' } };
      const env = {
        ...partnerEnv,
        ...businessEnv,
        FARETRAIL_PARTNER_CLIENT_SECRET: inEnv,
        FARETRAIL_ACCOUNTS_FILE: 'accounts.json',
        FARETRAIL_SEALING_KEYS: `k1:${encoded}`,
        FARETRAIL_NOTIFY_SECRETS: `n1:${notifySecret}`,
        FARETRAIL_PAYLOAD_KEYS: `p1:${payloadKey}`,
        FARETRAIL_CODEC_TOKEN: token,
      };
      const readFile = files({ 'accounts.json': JSON.stringify({ accounts: { acme } }), '/run/a': inFile });
      const config = loadWorkerConfig(env, readFile);
      expect(config.accounts.map(({ clientSecret }) => clientSecret)).toEqual([inEnv, 'business-secret', inFile]);
      const text = print(config);
      const keys = [encoded, payloadKey, bytes.join(','), bytes.join(', '), others.join(',')];
      for (const hidden of [inEnv, inFile, 'business-secret', notifySecret, token, ...keys])
        expect(text).not.toContain(hidden);
    }),
  );
});

it('shows no value in a problem, whichever setting it was put in by mistake', () => {
  fc.assert(
    fc.property(fc.constantFrom(...settingNames), secret, (name, value) => {
      const env: Env = { ...partnerEnv, ...businessEnv, FARETRAIL_SEALING_KEYS: 'k1:short', [name]: value };
      expect(printedError(() => loadConfig(env, files({})))).not.toContain(value);
    }),
  );
});

it('shows no part of the accounts file in a problem', () => {
  const account = fc.record(
    {
      interface: fc.constantFrom('partner', 'business', 'fleet'),
      baseUrl: secret,
      clientId: secret,
      clientSecret: fc.oneof(
        secret,
        secret.map((env) => ({ env })),
        secret.map((file) => ({ file })),
        secret.map((env) => ({ env, more: env })),
      ),
      untracked: secret,
      poll: secret,
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(account, (acme) => {
      const content = JSON.stringify({ accounts: { acme } });
      const env = { FARETRAIL_ACCOUNTS_FILE: 'accounts.json', FARETRAIL_SEALING_KEYS: `k1:${encodedKey(1)}` };
      for (const text of [content, content.slice(0, -1), content.replaceAll('"', "'")]) {
        const output = printedError(() => loadWorkerConfig(env, files({ 'accounts.json': text })));
        for (const [, value] of content.matchAll(/"([\w-]{32})"/g)) expect(output).not.toContain(value);
      }
    }),
  );
});
