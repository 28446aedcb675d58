import { describe, expect, it } from 'vitest';
import { type Env, loadConfig } from '../../src/config.js';
import { defaultContractProfile } from '../../src/contracts/default-contract-profile.js';
import { businessEnv, expectProblem, files, notifyEnv, partnerEnv } from './env.js';

describe('the configuration', () => {
  it('has the documented default for everything that is not set', () => {
    expect(loadConfig({})).toEqual({
      ...{ accounts: [], profile: defaultContractProfile, taskQueue: 'faretrail', deployment: null },
      ...{ sealingKeys: null, webhookKeys: null, payloads: { keys: null, encrypts: false } },
      notify: { origins: [], secrets: null, allowsPrivate: false },
      desk: { host: '127.0.0.1', port: 8482, url: null, login: null, temporalUi: null },
      codec: { host: '127.0.0.1', port: 8481, origins: ['http://localhost:8233', 'http://127.0.0.1:8233'] },
      ...{ publicUrls: [], ingressHost: '127.0.0.1', ingressPort: 8480, ingressMetricsPort: null },
      ...{ journalDir: '.faretrail/journal', journalMaxMb: 1024, deliveriesPerSecond: 100, deliveryMaxKb: 32 },
      ...{ store: 'none', proxy: null },
      poll: { activeMs: 10_000, reservedMs: 300_000, pushedMs: 300_000 },
      ...{ retryAfterMaxMs: 600_000, metricsPort: null, logLevel: 'info' },
    });
  });

  it.each<[string, Env]>([
    ['empty variables', { FARETRAIL_INGRESS_PORT: '', FARETRAIL_PARTNER_BASE_URL: '', FARETRAIL_NO_SUCH: '' }],
    ['the variables of the sandbox and the tests', { FARETRAIL_SANDBOX_PORT: '1', FARETRAIL_TEST_SEED: '2' }],
    ['the variables of other programs', { PATH: '/bin', TEMPORAL_ADDRESS: 'localhost:7233' }],
    ['a build id alone, which every image has', { TEMPORAL_WORKER_BUILD_ID: '1.4.0' }],
    [
      'the service links of Kubernetes',
      {
        FARETRAIL_INGRESS_SERVICE_HOST: '10.0.0.1',
        FARETRAIL_INGRESS_SERVICE_PORT_HTTP: '8480',
        FARETRAIL_INGRESS_PORT_8480_TCP_ADDR: '10.0.0.1',
        FARETRAIL_PORT: 'tcp://10.0.0.1:8480',
      },
    ],
  ])('passes over %s', (_, env) => {
    expect(loadConfig(env)).toEqual(loadConfig({}));
  });

  it.each<[string, string, object]>([
    ['TASK_QUEUE', 'rides', { taskQueue: 'rides' }],
    ['PUBLIC_URL', 'http://127.9.9.9/faretrail//', { publicUrls: ['http://127.9.9.9/faretrail'] }],
    [
      'PUBLIC_URL',
      'https://a.example , https://b.example/x',
      { publicUrls: ['https://a.example', 'https://b.example/x'] },
    ],
    ['INGRESS_HOST', '::1', { ingressHost: '::1' }],
    ['INGRESS_PORT', '0', { ingressPort: 0 }],
    ['JOURNAL_DIR', 'off', { journalDir: null }],
    ['JOURNAL_MAX_MB', '64', { journalMaxMb: 64 }],
    ['DELIVERIES_PER_SECOND', 'off', { deliveriesPerSecond: null }],
    ['DELIVERY_MAX_KB', '64', { deliveryMaxKb: 64 }],
    ['POLL_ACTIVE_MS', '100', { poll: { activeMs: 100, reservedMs: 300_000 } }],
    ['RETRY_AFTER_MAX_MS', '30000', { retryAfterMaxMs: 30_000 }],
    ['METRICS_PORT', '9464', { metricsPort: 9464 }],
    ['INGRESS_METRICS_PORT', '9465', { ingressMetricsPort: 9465 }],
    ['LOG_LEVEL', 'debug', { logLevel: 'debug' }],
  ])('reads FARETRAIL_%s=%s', (name, value, read) => {
    expect(loadConfig({ [`FARETRAIL_${name}`]: value })).toMatchObject(read);
  });

  it('has the origins of notices as URLs write them, those at a loopback address where private ones are allowed', () => {
    expect(loadConfig(notifyEnv).notify.origins).toEqual(['https://orders.example.com', 'https://shop.example:8443']);
    const local = { FARETRAIL_NOTIFY_ORIGINS: 'http://localhost:9000', FARETRAIL_NOTIFY_PRIVATE: 'true' };
    expect(loadConfig(local).notify).toMatchObject({ origins: ['http://localhost:9000'], allowsPrivate: true });
  });

  // The worker controller sets names with a slash.
  it.each(['faretrail', 'rides/faretrail'])('versions the workers of a deployment named %s', (deploymentName) => {
    const env = { TEMPORAL_DEPLOYMENT_NAME: deploymentName, TEMPORAL_WORKER_BUILD_ID: '1.4.0+7e4c2' };
    expect(loadConfig(env).deployment).toEqual({ deploymentName, buildId: '1.4.0+7e4c2' });
  });

  it('lays the contract file over the built-in profile; accounts take the rate and the cadence of the deployment', () => {
    const readFile = files({ 'contract.json': JSON.stringify({ limits: { requestsPerSecond: 3 } }) });
    const env = { ...partnerEnv, FARETRAIL_POLL_ACTIVE_MS: '500', FARETRAIL_CONTRACT_FILE: 'contract.json' };
    const { profile, accounts } = loadConfig(env, readFile);
    expect(profile).toEqual({ ...defaultContractProfile, limits: { requestsPerSecond: 3 } });
    expect(accounts).toMatchObject([{ requestsPerSecond: 3, poll: { activeMs: 500 } }]);
  });
});

describe('a setting that is wrong', () => {
  const addressRule = 'must be an https URL (http only at a loopback address) without credentials, query and fragment';
  const addresses = ['http://hooks.example', 'http://localhost.example', 'https://hooks.example/?'];
  const origins = ['orders.example.com', 'https://orders.example.com/hooks', 'https://orders.example.com?x=1', '', '*'];
  const ofOrigins = (url: string): [string, string] => ['FARETRAIL_NOTIFY_ORIGINS', `https://ok.example,${url}`];
  const readFile = files({ '/unknown-field': '{"limit": 1}', '/broken': '{' });
  const unfit = [
    ...['INGRESS_PORT=65536', 'INGRESS_PORT=80 ', 'INGRESS_PORT=1e3', 'METRICS_PORT=on', 'POLL_ACTIVE_MS=99'],
    ...['POLL_PUSHED_MS=86400001', 'RETRY_AFTER_MAX_MS=0', 'RETRY_AFTER_MAX_MS=86400001', 'JOURNAL_MAX_MB=0'],
    ...['LOG_LEVEL=INFO', 'TASK_QUEUE=two words', 'INGRESS_HOST=http://here', 'ENCRYPT_PAYLOADS=yes'],
    ...['NOTIFY_PRIVATE=yes', 'NOTIFY_PRIVATE=1', 'NOTIFY_PRIVATE=TRUE'],
  ].map((setting) => `FARETRAIL_${setting}`);

  it.each<[string, string, string]>([
    ...unfit.map((text) => [...text.split('='), 'must be'] as [string, string, string]),
    ['FARETRAIL_INGRESS_PORT', 'tcp://10.0.0.1:8480', 'set by a Kubernetes service link, not by you; add enable'],
    ['FARETRAIL_NOTIFY_ORIGINS', 'http://localhost:9000', 'entry 1 is a loopback address; set FARETRAIL_NOTIFY_PRIV'],
    ['FARETRAIL_PARTNER_CLIENTID', 'x', 'not a setting; correct it (docs/reference/settings.md) or unset it'],
    ['FARETRAIL_LOGLEVEL', 'y', 'not a setting; correct it (docs/reference/settings.md) or unset it'],
    ['FARETRAIL_CONTRACT_FILE', '/unknown-field', 'contract profile: limit: unknown field'],
    ['FARETRAIL_CONTRACT_FILE', '/broken', 'the file is not valid JSON'],
    ['FARETRAIL_CONTRACT_FILE', '/none', 'the file cannot be read (ENOENT); check its path and permissions'],
    ...addresses.map((url): [string, string, string] => ['FARETRAIL_PUBLIC_URL', url, `entry 1 ${addressRule}`]),
    ...origins.map((url): [string, string, string] => [...ofOrigins(url), 'entry 2 must be an https origin']),
  ])('is one problem: %s=%s %s', (name, value, problem) => {
    expectProblem(() => loadConfig({ [name]: value }, readFile), `${name}: ${problem}`);
  });

  const name = 'TEMPORAL_DEPLOYMENT_NAME';
  const buildId = 'TEMPORAL_WORKER_BUILD_ID';
  // The server would take such names and build ids apart at the wrong place.
  it.each<[Env, string]>([
    [{ [name]: 'fare.trail', [buildId]: '1' }, `${name}: must be`],
    [{ [name]: 'fare:trail', [buildId]: '1' }, `${name}: must be`],
    [{ [name]: 'faretrail', [buildId]: '1.4:0' }, `${buildId}: must be`],
    [{ [name]: 'faretrail', [buildId]: 'two words' }, `${buildId}: must be`],
    [{ [name]: 'faretrail' }, `${buildId}: missing; set it to what tells this build from others, or unset ${name}`],
    [{ ...businessEnv, FARETRAIL_BUSINESS_ID: '42' }, 'FARETRAIL_BUSINESS_ID: must be the UUID of the company'],
  ])('is one problem beside settings that are right: %j', (env, problem) => {
    expectProblem(() => loadConfig(env), problem);
  });
});

describe('the store', () => {
  const url = 'postgresql://faretrail:HIDDEN@db.example:5432/rides?sslmode=verify-full&sslrootcert=/etc/ca.pem';
  const storeOf = (value: string) => loadConfig({ FARETRAIL_STORE_URL: value }).store;

  it('is an address from a variable or a file, and may be none any more', () => {
    const file = loadConfig({ FARETRAIL_STORE_URL_FILE: '/run/store' }, () => `${url}\n`).store;
    for (const store of [storeOf(url), file]) expect(store).toHaveProperty('url', url);
    expect(storeOf('off')).toBe('off');
    expect(storeOf('')).toBe('none');
  });

  const ofHost = ['postgresql://u:HIDDEN@h', 'postgresql://u:HIDDEN@h/', 'postgresql:///HIDDEN'];
  it.each(['on', 'mysql://u:HIDDEN@h/d', ...ofHost])('is not %j', (value) => {
    expect(() => storeOf(value)).toThrow(/FARETRAIL_STORE_URL: must be postgresql:\/\/USER/);
    expect(() => storeOf(value)).not.toThrow('HIDDEN');
  });

  it.each(['p@ss/HIDDEN', 'p#HIDDEN', 'p?HIDDEN', '/HIDDEN', 'p@HIDDEN#'])(
    'says what to do about a password %j',
    (word) => {
      const store = () => storeOf(`postgresql://u:${word}@h:5432/d`);
      expect(store).toThrow(/FARETRAIL_STORE_URL: must be .*percent-encode the password: @ is %40/);
      expect(store).not.toThrow('HIDDEN');
    },
  );

  const severalHosts = [
    'h1:5432,h2:5432/d',
    'h1,h2/d',
    '[::1]:5432,[::2]:5432/d',
    'h1/d?host=h1,h2',
    'h/d?a=b&host=h1%2Ch2',
  ];
  it.each(severalHosts)('is not at several hosts, as libpq would take it: %s', (value) => {
    for (const user of ['u:HIDDEN@', 'u:HID,DEN@', '']) {
      expect(() => storeOf(`postgresql://${user}${value}`)).toThrow('FARETRAIL_STORE_URL: names several hosts');
      expect(() => storeOf(`postgresql://${user}${value}`)).not.toThrow('HID');
    }
  });

  it('may have a comma in its password, or in other parameters', () => {
    for (const value of ['postgresql://u:a,b@h/d', 'postgresql://u:p@h/d?options=-c%20a%3D1,2'])
      expect(storeOf(value)).toHaveProperty('url', value);
  });

  it.each([
    ['sslmode=verify', 'sslmode: must be disable'],
    ['sslmode=verify-ca', 'sslrootcert: missing'],
    ['sslmode=require&sslrootcert=system', 'sslrootcert: system needs'],
  ])('has no TLS by %s', (query, why) => {
    expect(() => storeOf(`postgresql://u:HIDDEN@h/d?${query}`)).toThrow(`FARETRAIL_STORE_URL: ${why}`);
  });

  it('takes PGSSLMODE where the address says nothing of TLS', () => {
    const store = (query: string) =>
      loadConfig({ FARETRAIL_STORE_URL: `postgresql://u:^%of@h/d${query}`, PGSSLMODE: 'verify-full' }).store;
    expect(store('')).toHaveProperty('url', 'postgresql://u:^%of@h/d?sslmode=verify-full');
    expect(store('?a=b')).toHaveProperty('url', 'postgresql://u:^%of@h/d?a=b&sslmode=verify-full');
    expect(store('?sslmode=disable')).toHaveProperty('url', 'postgresql://u:^%of@h/d?sslmode=disable');
  });
});
