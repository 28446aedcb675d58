import { describe, expect, it } from 'vitest';
import { loadCliConfig, loadConfig, loadIngressConfig, loadWorkerConfig } from '../../src/config.js';
import { accountsFile, businessEnv, encodedKey, files, partnerEnv, problemsOf, sealingEnv } from './env.js';

describe('what a process requires', () => {
  it('starts a worker with one account and sealing keys', () => {
    const config = loadWorkerConfig({ ...partnerEnv, ...sealingEnv });
    expect(config.accounts[0].clientSecret).toBe('partner-secret');
    expect(config.sealingKeys[0].kid).toBe('k2');
  });

  it('tells a worker all that is missing, with the remedies', () => {
    expect(problemsOf(() => loadWorkerConfig({ FARETRAIL_LOG_LEVEL: 'loud' }))).toEqual([
      expect.stringMatching(/^FARETRAIL_LOG_LEVEL: /),
      expect.stringMatching(/^FARETRAIL_ACCOUNTS_FILE: no account; set it/),
      expect.stringMatching(/^FARETRAIL_SEALING_KEYS: missing; make one with: node -e /),
    ]);
  });

  it('does not call missing what is there and wrong', () => {
    const env = { FARETRAIL_PARTNER_BASE_URL: 'https://partner.example', FARETRAIL_SEALING_KEYS: 'k1:short' };
    expect(problemsOf(() => loadWorkerConfig(env)).map((problem) => problem.split(':')[0])).toEqual([
      'FARETRAIL_PARTNER_CLIENT_ID',
      'FARETRAIL_PARTNER_CLIENT_SECRET',
      'FARETRAIL_SEALING_KEYS',
    ]);
  });

  it('requires nothing of the CLI', () => {
    expect(loadCliConfig({}).accounts).toEqual([]);
  });

  it('gives the CLI accounts without looking up their secrets', () => {
    const acme = {
      interface: 'partner',
      baseUrl: 'https://partner.example',
      clientId: 'acme-id',
      clientSecret: { file: '/not/on/this/machine' },
    };
    const { FARETRAIL_PARTNER_CLIENT_SECRET: _, ...env } = partnerEnv;
    const config = loadCliConfig({ ...env, FARETRAIL_ACCOUNTS_FILE: 'accounts.json' }, accountsFile({ acme }));
    expect(config.accounts.map(({ name }) => name)).toEqual(['partner', 'acme']);
    expect(config.accounts.some((account) => 'clientSecret' in account)).toBe(false);
  });

  it('tells the CLI of settings that are wrong', () => {
    expect(problemsOf(() => loadCliConfig({ FARETRAIL_ACCOUNTS_FILE: 'gone.json' }, files({})))).toHaveLength(1);
  });
});

const webhookEnv = { FARETRAIL_WEBHOOK_KEYS: `w1:${encodedKey(9)}` };
const { FARETRAIL_BUSINESS_CLIENT_SECRET: _, ...withoutSecret } = businessEnv;

describe('what an ingress requires', () => {
  it('is an account and the webhook keys, and no client secret', () => {
    const config = loadIngressConfig({ ...withoutSecret, ...webhookEnv });
    expect(config.accounts[0]).toMatchObject({ name: 'business', businessId: businessEnv.FARETRAIL_BUSINESS_ID });
    expect(config.webhookKeys[0].kid).toBe('w1');
  });

  it('is told as a whole, with the remedies', () => {
    expect(problemsOf(() => loadIngressConfig({ FARETRAIL_INGRESS_PORT: 'x' }))).toEqual([
      expect.stringMatching(/^FARETRAIL_INGRESS_PORT: /),
      expect.stringMatching(/^FARETRAIL_ACCOUNTS_FILE: no account; set it/),
      expect.stringMatching(/^FARETRAIL_WEBHOOK_KEYS: missing; make one with: node -e /),
    ]);
  });

  it('does not call missing what is there and wrong', () => {
    const env = { ...withoutSecret, FARETRAIL_WEBHOOK_KEYS: 'w1:short' };
    expect(problemsOf(() => loadIngressConfig(env))).toEqual([
      expect.stringMatching(/^FARETRAIL_WEBHOOK_KEYS: entry 1/),
    ]);
  });
});

describe('what only a worker uses', () => {
  it('is taken and left out: the ingress holds no client secret and no key that opens tokens', () => {
    const env = { ...businessEnv, ...webhookEnv, ...sealingEnv, FARETRAIL_METRICS_PORT: '1', FARETRAIL_PUBLIC_URL: '' };
    const config = loadIngressConfig(env);
    expect(config.sealingKeys).toBeNull();
    expect('clientSecret' in config.accounts[0]).toBe(false);
  });

  it('is not looked up: the file of a secret need not be on this machine', () => {
    const acme = {
      ...{ interface: 'business', baseUrl: 'https://business.example', clientId: 'acme-id' },
      ...{ businessId: businessEnv.FARETRAIL_BUSINESS_ID, clientSecret: { file: '/not/on/this/machine' } },
    };
    const env = { ...webhookEnv, FARETRAIL_ACCOUNTS_FILE: 'accounts.json' };
    expect(loadIngressConfig(env, accountsFile({ acme })).accounts).toMatchObject([{ name: 'acme' }]);
  });
});

const name = 'TEMPORAL_DEPLOYMENT_NAME';
const buildId = 'TEMPORAL_WORKER_BUILD_ID';

it('versions workers when deployment and build have a name', () => {
  const env = { [name]: 'faretrail', [buildId]: '1.4.0+7e4c2' };
  expect(loadConfig(env).deployment).toEqual({ deploymentName: 'faretrail', buildId: '1.4.0+7e4c2' });
});

it('takes a deployment name as the worker controller sets it', () => {
  expect(loadConfig({ [name]: 'rides/faretrail', [buildId]: '1' }).deployment?.deploymentName).toBe('rides/faretrail');
});

it.each([
  ['FARETRAIL_DEPLOYMENT_NAME', name],
  ['FARETRAIL_BUILD_ID', buildId],
])('refuses %s and names the setting that has replaced it', (old, now) => {
  expect(problemsOf(() => loadConfig({ [old]: '1' }))).toEqual([`${old}: renamed; set ${now} instead`]);
});

it('does not version workers because their image knows its build', () => {
  expect(loadConfig({ [buildId]: '1.4.0' }).deployment).toBeNull();
});

it('refuses a deployment without a build id, and says what to do', () => {
  expect(problemsOf(() => loadConfig({ [name]: 'faretrail' }))).toEqual([
    `${buildId}: missing; set it to what tells this build from others, or unset ${name}`,
  ]);
});

it.each([
  [name, 'fare.trail'],
  [name, 'fare:trail'],
  [buildId, '1.4:0'],
  [buildId, 'two words'],
])('refuses %s=%s, which the server would take apart wrongly', (setting, value) => {
  const env = { [name]: 'faretrail', [buildId]: '1', [setting]: value };
  expect(problemsOf(() => loadConfig(env))).toEqual([expect.stringMatching(new RegExp(`^${setting}: must be`))]);
});
