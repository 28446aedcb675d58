import { describe, expect, it } from 'vitest';
import { type Env, loadConfig, loadIngressConfig, loadWorkerConfig } from '../../src/config.js';
import { encodedKey, files, partnerEnv, problemsOf } from './env.js';

const keys = `k1:${encodedKey(1)}`;
const readFile = files({
  '/run/secrets/keys': `${keys}\n`,
  '/run/secrets/short': 'k1:short',
  '/run/secrets/empty': '',
});

describe('keys that stand in a file', () => {
  it.each(['FARETRAIL_SEALING_KEYS', 'FARETRAIL_WEBHOOK_KEYS', 'FARETRAIL_NOTIFY_SECRETS', 'FARETRAIL_PAYLOAD_KEYS'])(
    'of %s are those of the variable',
    (name) => {
      expect(loadConfig({ [`${name}_FILE`]: '/run/secrets/keys' }, readFile)).toEqual(loadConfig({ [name]: keys }));
    },
  );

  it('are enough for a worker, an ingress and encryption', () => {
    const worker: Env = { ...partnerEnv, FARETRAIL_SEALING_KEYS_FILE: '/run/secrets/keys' };
    expect(loadWorkerConfig(worker, readFile).sealingKeys[0].kid).toBe('k1');
    const ingress: Env = { ...partnerEnv, FARETRAIL_WEBHOOK_KEYS_FILE: '/run/secrets/keys' };
    expect(loadIngressConfig(ingress, readFile).webhookKeys[0].kid).toBe('k1');
    const encrypting: Env = { FARETRAIL_ENCRYPT_PAYLOADS: 'true', FARETRAIL_PAYLOAD_KEYS_FILE: '/run/secrets/keys' };
    expect(loadConfig(encrypting, readFile).payloads.encrypts).toBe(true);
  });

  it.each([
    ['/run/secrets/none', /^FARETRAIL_SEALING_KEYS_FILE: the file cannot be read \(ENOENT\)/],
    ['/run/secrets/empty', /^FARETRAIL_SEALING_KEYS_FILE: the file is empty/],
    ['/run/secrets/short', /^FARETRAIL_SEALING_KEYS_FILE: entry 1 must hold 32 bytes/],
  ])('are told of once, by the name of the setting, when they cannot be used: %s', (path, problem) => {
    const env = { ...partnerEnv, FARETRAIL_SEALING_KEYS_FILE: path };
    expect(problemsOf(() => loadWorkerConfig(env, readFile))).toEqual([expect.stringMatching(problem)]);
  });

  it('do not stand beside keys in the variable', () => {
    const env = { FARETRAIL_SEALING_KEYS: keys, FARETRAIL_SEALING_KEYS_FILE: '/run/secrets/keys' };
    expect(problemsOf(() => loadConfig(env, readFile))).toEqual([
      'FARETRAIL_SEALING_KEYS: set together with FARETRAIL_SEALING_KEYS_FILE; keep one of them',
    ]);
  });
});
