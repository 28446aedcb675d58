import { describe, expect, it } from 'vitest';
import { type Env, loadConfig } from '../../src/config.js';
import { defaultContractProfile } from '../../src/contracts/default-contract-profile.js';
import { encodedKey, files, problemsOf, sealingEnv } from './env.js';

describe('settings', () => {
  it('has the documented default for everything that is not set', () => {
    expect(loadConfig({})).toEqual({
      accounts: [],
      profile: defaultContractProfile,
      taskQueue: 'faretrail',
      deployment: null,
      sealingKeys: null,
      webhookKeys: null,
      notify: { origins: [], secrets: null, allowsPrivate: false },
      payloads: { keys: null, encrypts: false },
      codec: { host: '127.0.0.1', port: 8481, origins: ['http://localhost:8233', 'http://127.0.0.1:8233'] },
      publicUrl: null,
      ingressHost: '127.0.0.1',
      ingressPort: 8480,
      journalDir: '.faretrail/journal',
      journalMaxMb: 1024,
      poll: { activeMs: 10_000, reservedMs: 300_000, pushedMs: 120_000 },
      retryAfterMaxMs: 600_000,
      metricsPort: null,
      logLevel: 'info',
    });
  });

  it('takes an empty value as not set', () => {
    const empty = { FARETRAIL_INGRESS_PORT: '', FARETRAIL_PARTNER_BASE_URL: '', FARETRAIL_NO_SUCH: '' };
    expect(loadConfig(empty)).toEqual(loadConfig({}));
  });

  it('reads what is set', () => {
    const config = loadConfig({
      FARETRAIL_TASK_QUEUE: 'rides',
      FARETRAIL_PUBLIC_URL: 'https://hooks.example/faretrail/',
      FARETRAIL_INGRESS_HOST: '::1',
      FARETRAIL_INGRESS_PORT: '0',
      FARETRAIL_JOURNAL_DIR: 'off',
      FARETRAIL_JOURNAL_MAX_MB: '64',
      FARETRAIL_POLL_ACTIVE_MS: '100',
      FARETRAIL_RETRY_AFTER_MAX_MS: '30000',
      FARETRAIL_METRICS_PORT: '9464',
      FARETRAIL_LOG_LEVEL: 'debug',
    });
    expect(config).toMatchObject({
      taskQueue: 'rides',
      publicUrl: 'https://hooks.example/faretrail',
      ingressHost: '::1',
      ingressPort: 0,
      journalDir: null,
      journalMaxMb: 64,
      poll: { activeMs: 100, reservedMs: 300_000 },
      retryAfterMaxMs: 30_000,
      metricsPort: 9464,
      logLevel: 'debug',
    });
  });

  it.each([
    ['FARETRAIL_INGRESS_PORT', '65536'],
    ['FARETRAIL_INGRESS_PORT', '80 '],
    ['FARETRAIL_INGRESS_PORT', '1e3'],
    ['FARETRAIL_METRICS_PORT', 'on'],
    ['FARETRAIL_POLL_ACTIVE_MS', '99'],
    ['FARETRAIL_POLL_PUSHED_MS', '86400001'],
    ['FARETRAIL_RETRY_AFTER_MAX_MS', '0'],
    ['FARETRAIL_RETRY_AFTER_MAX_MS', '86400001'],
    ['FARETRAIL_JOURNAL_MAX_MB', '0'],
    ['FARETRAIL_LOG_LEVEL', 'INFO'],
    ['FARETRAIL_TASK_QUEUE', 'two words'],
    ['FARETRAIL_INGRESS_HOST', 'http://here'],
    ['FARETRAIL_NOTIFY_PRIVATE', 'yes'],
    ['FARETRAIL_NOTIFY_PRIVATE', '1'],
    ['FARETRAIL_NOTIFY_PRIVATE', 'TRUE'],
    ['FARETRAIL_ENCRYPT_PAYLOADS', 'yes'],
  ])('refuses %s=%s by name and without the value', (name, value) => {
    const [problem, ...others] = problemsOf(() => loadConfig({ [name]: value }));
    expect(others).toEqual([]);
    expect(problem).toMatch(new RegExp(`^${name}: must be`));
  });

  it('report every problem in one go', () => {
    const env = { FARETRAIL_LOG_LEVEL: 'loud', FARETRAIL_POLL_ACTIVE_MS: 'often', FARETRAIL_SEALING_KEYS: 'short' };
    const names = problemsOf(() => loadConfig(env)).map((problem) => problem.split(':')[0]);
    expect(names.sort()).toEqual(Object.keys(env).sort());
  });

  it('says where a port comes from that a Kubernetes service link has set', () => {
    const env = { FARETRAIL_INGRESS_PORT: 'tcp://10.0.0.1:8480' };
    expect(problemsOf(() => loadConfig(env))).toEqual([
      expect.stringMatching(/^FARETRAIL_INGRESS_PORT: .*enableServiceLinks: false/),
    ]);
  });
});

describe('addresses', () => {
  it.each([
    ['https://hooks.example///', 'https://hooks.example'],
    ['http://localhost:8480/', 'http://localhost:8480'],
    ['http://127.9.9.9/base/', 'http://127.9.9.9/base'],
    ['http://[::1]:8480', 'http://[::1]:8480'],
  ])('accepts %s as %s', (given, read) => {
    expect(loadConfig({ FARETRAIL_PUBLIC_URL: given }).publicUrl).toBe(read);
  });

  it.each([
    'http://hooks.example',
    'http://127.0.0.1.example',
    'http://localhost.example',
    'https://user:word@hooks.example',
    'https://hooks.example?key=1',
    'https://hooks.example/#part',
    'https://hooks.example/?',
    'ftp://localhost',
    'hooks.example',
  ])('refuses %s', (url) => {
    expect(problemsOf(() => loadConfig({ FARETRAIL_PUBLIC_URL: url }))).toEqual([
      'FARETRAIL_PUBLIC_URL: must be an https URL (http only at a loopback address) without credentials, query and fragment',
    ]);
  });
});

describe('names', () => {
  it('reports a name that is no setting together with the closest one', () => {
    expect(problemsOf(() => loadConfig({ FARETRAIL_PARTNER_CLIENTID: 'x', FARETRAIL_LOGLEVEL: 'y' }))).toEqual([
      'FARETRAIL_PARTNER_CLIENTID: not a setting; did you mean FARETRAIL_PARTNER_CLIENT_ID? Correct or unset it',
      'FARETRAIL_LOGLEVEL: not a setting; did you mean FARETRAIL_LOG_LEVEL? Correct or unset it',
    ]);
  });

  it.each<[string, Env]>([
    ['the sandbox and the tests', { FARETRAIL_SANDBOX_PORT: '1', FARETRAIL_TEST_SEED: '2' }],
    ['other programs', { PATH: '/bin', TEMPORAL_ADDRESS: 'localhost:7233' }],
    [
      'Kubernetes service links',
      {
        FARETRAIL_INGRESS_SERVICE_HOST: '10.0.0.1',
        FARETRAIL_INGRESS_SERVICE_PORT_HTTP: '8480',
        FARETRAIL_INGRESS_PORT_8480_TCP_ADDR: '10.0.0.1',
        FARETRAIL_PORT: 'tcp://10.0.0.1:8480',
      },
    ],
  ])('leaves the names of %s alone', (_, env) => {
    expect(loadConfig(env)).toEqual(loadConfig({}));
  });
});

describe('key rings', () => {
  it('keeps the order of the keys, the first one seals', () => {
    const ring = loadConfig(sealingEnv).sealingKeys;
    expect(ring?.map(({ kid }) => kid)).toEqual(['k2', 'k1']);
    expect(ring?.map(({ key }) => key.length)).toEqual([32, 32]);
  });

  it.each([
    ['a key that is too short', `k1:${encodedKey(1).slice(2)}`, 'entry 1 must hold 32 bytes'],
    ['a key in padded base64', `k1:${encodedKey(1)}=`, 'entry 1 must hold 32 bytes'],
    ['a key without a kid', encodedKey(1), 'entry 1 must be kid:key'],
    ['an empty entry', `k1:${encodedKey(1)},`, 'entry 2 must be kid:key'],
    ['a kid given twice', `k1:${encodedKey(1)},k1:${encodedKey(2)}`, 'entry 2 has the kid of entry 1'],
    ['a key given twice', `k1:${encodedKey(1)},k2:${encodedKey(1)}`, 'entry 2 has the key of entry 1'],
  ])('refuses %s, by position', (_, keys, problem) => {
    expect(problemsOf(() => loadConfig({ FARETRAIL_WEBHOOK_KEYS: keys }))).toEqual([
      expect.stringContaining(`FARETRAIL_WEBHOOK_KEYS: ${problem}`),
    ]);
  });

  it('refuses one key for tokens and webhooks', () => {
    const env = { ...sealingEnv, FARETRAIL_WEBHOOK_KEYS: `hooks:${encodedKey(1)}` };
    expect(problemsOf(() => loadConfig(env))).toEqual([
      expect.stringMatching(/^FARETRAIL_WEBHOOK_KEYS: holds a key of FARETRAIL_SEALING_KEYS/),
    ]);
  });
});

describe('contract file', () => {
  const env = { FARETRAIL_CONTRACT_FILE: 'contract.json' };

  it('lays the overrides over the built-in profile', () => {
    const overrides = JSON.stringify({ limits: { requestsPerSecond: 3 } });
    const { profile } = loadConfig(env, files({ 'contract.json': overrides }));
    expect(profile).toEqual({ ...defaultContractProfile, limits: { requestsPerSecond: 3 } });
  });

  it.each<[string, Record<string, string>, RegExp]>([
    ['an unknown field', { 'contract.json': '{"limit": 1}' }, /limit/],
    ['text that is not JSON', { 'contract.json': '{' }, /not valid JSON/],
    ['no file', {}, /the file cannot be read \(ENOENT\); check its path and permissions/],
  ])('refuses %s', (_, there, problem) => {
    const expected = expect.stringMatching(new RegExp(`^FARETRAIL_CONTRACT_FILE: .*${problem.source}`));
    expect(problemsOf(() => loadConfig(env, files(there)))).toEqual([expected]);
  });
});
