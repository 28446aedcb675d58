import { describe, expect, it } from 'vitest';
import { loadCliConfig, loadConfig, loadIngressConfig, loadWorkerConfig } from '../../src/config.js';
import { accountsFile, businessEnv, encodedKey, files, partnerEnv, problemsOf, sealingEnv } from './env.js';

const webhookEnv = { FARETRAIL_WEBHOOK_KEYS: `w1:${encodedKey(9)}` };
const { FARETRAIL_BUSINESS_CLIENT_SECRET: _, ...withoutSecret } = businessEnv;
const namesOf = (problems: readonly string[]) => problems.map((problem) => problem.split(':')[0]);

it('a worker starts with one account and sealing keys', () => {
  const config = loadWorkerConfig({ ...partnerEnv, ...sealingEnv });
  expect(config.accounts[0].clientSecret).toBe('partner-secret');
  expect(config.sealingKeys[0].kid).toBe('k2');
});

it('an ingress starts with an account and the webhook keys, without a client secret', () => {
  const config = loadIngressConfig({ ...withoutSecret, ...webhookEnv });
  expect(config.accounts[0]).toMatchObject({ name: 'business', businessId: businessEnv.FARETRAIL_BUSINESS_ID });
  expect(config.webhookKeys[0].kid).toBe('w1');
});

it('an ingress ignores the settings of a worker: it holds no client secret and no key that opens tokens', () => {
  const ofWorker = { ...sealingEnv, FARETRAIL_METRICS_PORT: '1', FARETRAIL_PUBLIC_URL: '' };
  const config = loadIngressConfig({ ...businessEnv, ...webhookEnv, ...ofWorker });
  expect(config.sealingKeys).toBeNull();
  expect('clientSecret' in config.accounts[0]).toBe(false);
});

describe.each([
  ['a worker', loadWorkerConfig, 'FARETRAIL_SEALING_KEYS', ['FARETRAIL_PARTNER_CLIENT_SECRET']],
  ['an ingress', loadIngressConfig, 'FARETRAIL_WEBHOOK_KEYS', []],
] as const)('the problems of %s', (_, load, keys, secret) => {
  it('name all that is missing, with the remedies', () => {
    expect(problemsOf(() => load({ FARETRAIL_LOG_LEVEL: 'loud' }))).toEqual([
      expect.stringMatching(/^FARETRAIL_LOG_LEVEL: /),
      expect.stringMatching(/^FARETRAIL_ACCOUNTS_FILE: no account; set it/),
      expect.stringMatching(new RegExp(`^${keys}: missing; make one with: node -e `)),
    ]);
  });

  it('do not call a setting missing that is set and wrong', () => {
    const env = { FARETRAIL_PARTNER_BASE_URL: 'https://partner.example', [keys]: 'k1:short' };
    const problems = problemsOf(() => load(env));
    expect(namesOf(problems)).toEqual(['FARETRAIL_PARTNER_CLIENT_ID', ...secret, keys]);
    expect(problems.at(-1)).toMatch(/: entry 1/);
  });
});

it('the CLI requires nothing, and reports settings that are wrong', () => {
  expect(loadCliConfig({}).accounts).toEqual([]);
  expect(problemsOf(() => loadCliConfig({ FARETRAIL_ACCOUNTS_FILE: 'gone.json' }, files({})))).toHaveLength(1);
});

it.each([
  ['the CLI', loadCliConfig],
  ['an ingress', loadIngressConfig],
])('%s reads accounts without their secrets, whose files may be on another machine', (_, load) => {
  const acme = {
    ...{ interface: 'partner', baseUrl: 'https://partner.example', clientId: 'acme-id' },
    clientSecret: { file: '/not/on/this/machine' },
  };
  const env = { ...withoutSecret, ...webhookEnv, FARETRAIL_ACCOUNTS_FILE: 'accounts.json' };
  const { accounts } = load(env, accountsFile({ acme }));
  expect(accounts.map(({ name }) => name)).toEqual(['business', 'acme']);
  expect(accounts.some((account) => 'clientSecret' in account)).toBe(false);
});

const name = 'TEMPORAL_DEPLOYMENT_NAME';
const buildId = 'TEMPORAL_WORKER_BUILD_ID';

// The worker controller sets names with a slash.
it.each(['faretrail', 'rides/faretrail'])('a deployment named %s versions its workers', (deploymentName) => {
  const env = { [name]: deploymentName, [buildId]: '1.4.0+7e4c2' };
  expect(loadConfig(env).deployment).toEqual({ deploymentName, buildId: '1.4.0+7e4c2' });
});

it('a build id alone, as the image has one, does not version workers', () => {
  expect(loadConfig({ [buildId]: '1.4.0' }).deployment).toBeNull();
});

// The server would take such values apart at the wrong place.
it.each([
  [{ [name]: 'fare.trail', [buildId]: '1' }, new RegExp(`^${name}: must be`)],
  [{ [name]: 'fare:trail', [buildId]: '1' }, new RegExp(`^${name}: must be`)],
  [{ [name]: 'faretrail', [buildId]: '1.4:0' }, new RegExp(`^${buildId}: must be`)],
  [{ [name]: 'faretrail', [buildId]: 'two words' }, new RegExp(`^${buildId}: must be`)],
  [{ [name]: 'faretrail' }, new RegExp(`^${buildId}: missing; set it to .*, or unset ${name}$`)],
  [{ FARETRAIL_DEPLOYMENT_NAME: '1' }, new RegExp(`^FARETRAIL_DEPLOYMENT_NAME: renamed; set ${name} instead$`)],
  [{ FARETRAIL_BUILD_ID: '1' }, new RegExp(`^FARETRAIL_BUILD_ID: renamed; set ${buildId} instead$`)],
])('%j is refused by name, with the remedy', (env, problem) => {
  expect(problemsOf(() => loadConfig(env))).toEqual([expect.stringMatching(problem)]);
});
