import { expect, it } from 'vitest';
import { type Env, loadConfig, loadIngressConfig, loadWorkerConfig } from '../../src/config.js';
import { encodedKey, files, partnerEnv, problemsOf } from './env.js';

const keys = `k1:${encodedKey(1)}`;
const readFile = files({ '/run/keys': `${keys}\n`, '/run/short': 'k1:short', '/run/empty': '\n' });
const keySettings = ['SEALING_KEYS', 'WEBHOOK_KEYS', 'NOTIFY_SECRETS', 'PAYLOAD_KEYS'].map((end) => `FARETRAIL_${end}`);

it.each(keySettings)('%s_FILE gives the same keys as the variable', (name) => {
  expect(loadConfig({ [`${name}_FILE`]: '/run/keys' }, readFile)).toEqual(loadConfig({ [name]: keys }));
});

it('keys in files are enough for a worker, an ingress and encryption', () => {
  const worker: Env = { ...partnerEnv, FARETRAIL_SEALING_KEYS_FILE: '/run/keys' };
  expect(loadWorkerConfig(worker, readFile).sealingKeys[0].kid).toBe('k1');
  const ingress: Env = { ...partnerEnv, FARETRAIL_WEBHOOK_KEYS_FILE: '/run/keys' };
  expect(loadIngressConfig(ingress, readFile).webhookKeys[0].kid).toBe('k1');
  const encrypting: Env = { FARETRAIL_ENCRYPT_PAYLOADS: 'true', FARETRAIL_PAYLOAD_KEYS_FILE: '/run/keys' };
  expect(loadConfig(encrypting, readFile).payloads.encrypts).toBe(true);
});

const { FARETRAIL_PARTNER_CLIENT_SECRET: _, ...withoutSecret } = partnerEnv;
const sealing = 'FARETRAIL_SEALING_KEYS_FILE';
const secret = 'FARETRAIL_PARTNER_CLIENT_SECRET_FILE';

it.each([
  [sealing, '/run/none', /the file cannot be read \(ENOENT\)/],
  [sealing, '/run/empty', /the file is empty/],
  [sealing, '/run/short', /entry 1 must hold 32 bytes/],
  [secret, '/run/none', /cannot be read \(ENOENT\)/],
  [secret, '/run/empty', /the file is empty/],
])('%s=%s is one problem, by the name of the setting', (name, path, problem) => {
  const env = { ...(name === secret ? withoutSecret : partnerEnv), [sealing]: '/run/keys', [name]: path };
  const expected = expect.stringMatching(new RegExp(`^${name}: .*${problem.source}`));
  expect(problemsOf(() => loadWorkerConfig(env, readFile))).toEqual([expected]);
});

it.each([...keySettings, 'FARETRAIL_PARTNER_CLIENT_SECRET', 'FARETRAIL_CODEC_TOKEN'])(
  '%s is refused together with its file',
  (name) => {
    const env = { ...partnerEnv, [name]: keys, [`${name}_FILE`]: '/run/keys' };
    expect(problemsOf(() => loadConfig(env, readFile))).toEqual([
      `${name}: set together with ${name}_FILE; keep one of them`,
    ]);
  },
);
