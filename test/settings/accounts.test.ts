import { describe, expect, it } from 'vitest';
import { type Env, loadConfig } from '../../src/config.js';
import { accountsFile, businessEnv, files, partnerEnv, problemsOf } from './env.js';

describe('accounts of the environment', () => {
  it('reads the partner account', () => {
    const { accounts } = loadConfig(partnerEnv);
    expect(accounts).toEqual([
      {
        name: 'partner',
        interface: 'partner',
        baseUrl: 'https://partner.example',
        authUrl: 'https://partner.example',
        clientId: 'partner-id',
        requestsPerSecond: 16,
        poll: { activeMs: 10_000, reservedMs: 300_000, pushedMs: 120_000 },
        untracked: 'follow',
      },
    ]);
    expect(accounts[0]?.clientSecret).toBe('partner-secret');
  });

  it('reads the business account, whose token address is its base URL unless it has its own', () => {
    const { accounts } = loadConfig({ ...businessEnv, FARETRAIL_BUSINESS_AUTH_URL: 'https://auth.example/' });
    const business = { name: 'business', businessId: businessEnv.FARETRAIL_BUSINESS_ID };
    expect(accounts).toMatchObject([{ ...business, authUrl: 'https://auth.example' }]);
    expect(loadConfig(businessEnv).accounts).toMatchObject([{ ...business, authUrl: 'https://business.example' }]);
  });

  it('gives an account the cadence and the rate of the deployment', () => {
    const env = { ...partnerEnv, FARETRAIL_POLL_ACTIVE_MS: '500', FARETRAIL_CONTRACT_FILE: 'contract.json' };
    const contract = JSON.stringify({ limits: { requestsPerSecond: 3 } });
    expect(loadConfig(env, files({ 'contract.json': contract })).accounts).toMatchObject([
      { requestsPerSecond: 3, poll: { activeMs: 500 } },
    ]);
  });

  it.each<[string, Env, string[]]>([
    [
      'FARETRAIL_PARTNER_BASE_URL',
      { FARETRAIL_PARTNER_BASE_URL: 'https://partner.example' },
      ['FARETRAIL_PARTNER_CLIENT_ID', 'FARETRAIL_PARTNER_CLIENT_SECRET'],
    ],
    [
      'FARETRAIL_BUSINESS_CLIENT_SECRET',
      { FARETRAIL_BUSINESS_CLIENT_SECRET: 'business-secret' },
      ['FARETRAIL_BUSINESS_BASE_URL', 'FARETRAIL_BUSINESS_CLIENT_ID', 'FARETRAIL_BUSINESS_ID'],
    ],
  ])('lists what is missing when only %s is set', (_, env, missing) => {
    const problems = problemsOf(() => loadConfig(env));
    expect(problems.map((problem) => problem.split(':')[0])).toEqual(missing);
    expect(problems.every((problem) => /: missing; set it.* or unset every/.test(problem))).toBe(true);
  });

  it('refuses a business id that is no UUID', () => {
    expect(problemsOf(() => loadConfig({ ...businessEnv, FARETRAIL_BUSINESS_ID: '42' }))).toEqual([
      'FARETRAIL_BUSINESS_ID: must be the UUID of the company',
    ]);
  });
});

describe('secrets of the environment', () => {
  const { FARETRAIL_PARTNER_CLIENT_SECRET: _, ...rest } = partnerEnv;
  const fileEnv = { ...rest, FARETRAIL_PARTNER_CLIENT_SECRET_FILE: '/run/secret' };

  it('keeps every blank of a secret in a variable', () => {
    const env = { ...partnerEnv, FARETRAIL_PARTNER_CLIENT_SECRET: ' word \n' };
    expect(loadConfig(env).accounts[0]?.clientSecret).toBe(' word \n');
  });

  it.each([
    ['word\n', 'word'],
    ['word\r\n', 'word'],
    ['word\n\n', 'word\n'],
    [' word', ' word'],
  ])('drops one newline at the end of a secret file: %j is %j', (content, secret) => {
    expect(loadConfig(fileEnv, files({ '/run/secret': content })).accounts[0]?.clientSecret).toBe(secret);
  });
});

describe('accounts file', () => {
  const env = { FARETRAIL_ACCOUNTS_FILE: 'accounts.json', FARETRAIL_ACME_SECRET: 'acme-secret' };
  const acme = {
    interface: 'business',
    baseUrl: 'https://business.example/',
    clientId: 'acme-id',
    clientSecret: { env: 'FARETRAIL_ACME_SECRET' },
    businessId: '7b0c1d7e-5a53-4d7e-9d0c-1f2a3b4c5d6e',
  };

  it('reads any number of accounts beside those of the environment', () => {
    const globex = { ...acme, clientSecret: { env: 'GLOBEX' } };
    const config = loadConfig({ ...partnerEnv, ...env, GLOBEX: 'g' }, accountsFile({ acme, globex }));
    expect(config.accounts.map(({ name, clientSecret }) => [name, clientSecret])).toEqual([
      ['partner', 'partner-secret'],
      ['acme', 'acme-secret'],
      ['globex', 'g'],
    ]);
  });

  it('reads what an account sets for itself and takes the rest from the deployment', () => {
    const own = { ...acme, poll: { activeMs: 200 }, requestsPerSecond: 0.5, untracked: 'ignore' };
    const config = loadConfig({ ...env, FARETRAIL_POLL_PUSHED_MS: '7000' }, accountsFile({ acme: own }));
    const { clientSecret: _, ...rest } = own;
    const urls = { baseUrl: 'https://business.example', authUrl: 'https://business.example' };
    const poll = { activeMs: 200, reservedMs: 300_000, pushedMs: 7000 };
    expect(config.accounts).toEqual([{ name: 'acme', ...rest, ...urls, poll }]);
  });

  it('reads a secret from the file that an account names', () => {
    const file = { accounts: { acme: { ...acme, clientSecret: { file: '/run/acme' } } } };
    const { FARETRAIL_ACME_SECRET: _, ...withoutSecret } = env;
    const config = loadConfig(withoutSecret, files({ 'accounts.json': JSON.stringify(file), '/run/acme': 'word\n' }));
    expect(config.accounts[0]?.clientSecret).toBe('word');
  });

  const at = 'FARETRAIL_ACCOUNTS_FILE: accounts';
  it.each<[string, Record<string, unknown>, string[]]>([
    [
      'a secret in clear, and says where it belongs',
      { acme: { ...acme, clientSecret: 'word' } },
      [
        `${at}.acme.clientSecret: must be {"env": "NAME"} or {"file": "PATH"}; a secret itself does not belong in this file, move it there and rotate it`,
        'FARETRAIL_ACME_SECRET: not a setting; unset it, or name it in FARETRAIL_ACCOUNTS_FILE as the place of a secret',
      ],
    ],
    [
      'an unset variable without naming it',
      { acme: { ...acme, clientSecret: { env: 'NOT_SET' } }, other: acme },
      [`${at}.acme.clientSecret: the variable that "env" names is not set; set it`],
    ],
    ['a bad name', { 'Acme Inc': acme }, [`${at}.Acme Inc: a name must be 1 to 40 characters of a-z, 0-9 and "-"`]],
    [
      'the interface fleet',
      { acme: { ...acme, interface: 'fleet' } },
      [`${at}.acme.interface: must be "partner" or "business"`],
    ],
    ['a name of the environment', { partner: acme }, [`${at}.partner also comes from FARETRAIL_PARTNER_*; rename one`]],
  ])('refuses %s', (_, accounts, problems) => {
    expect(problemsOf(() => loadConfig({ ...partnerEnv, ...env }, accountsFile(accounts)))).toEqual(problems);
  });

  it('finds every problem of every account at once', () => {
    const settings = { baseUrl: 'http://far.example', clientSecret: { env: 'NOT_SET' }, poll: { activeMs: 1 } };
    const bad = { ...acme, ...settings, rate: 2 };
    const problems = problemsOf(() => loadConfig(env, accountsFile({ bad, worse: 7, acme })));
    expect(problems).toHaveLength(5);
    for (const place of ['bad.clientSecret', 'bad.baseUrl', 'bad.poll.activeMs', 'bad: ', 'worse: '])
      expect(problems).toContainEqual(expect.stringContaining(`${at}.${place}`));
  });

  it('does not guess at names while the file cannot be read', () => {
    expect(problemsOf(() => loadConfig(env, files({ 'accounts.json': 'nonsense' })))).toEqual([
      'FARETRAIL_ACCOUNTS_FILE: the file is not valid JSON; check it with a JSON linter',
    ]);
  });
});
