import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config.js';
import { defaultWatch, noWatch } from '../../src/domain/order/concern.js';
import { accountsFile, businessEnv, expectProblem, files, partnerEnv, problemsOf } from './env.js';

describe('the environment', () => {
  it('reads the partner account', () => {
    const { accounts } = loadConfig(partnerEnv);
    const url = 'https://partner.example';
    const own = { name: 'partner', interface: 'partner', baseUrl: url, authUrl: url, clientId: 'partner-id' };
    const poll = { activeMs: 10_000, reservedMs: 300_000, pushedMs: 300_000 };
    expect(accounts).toEqual([{ ...own, requestsPerSecond: 16, poll, watch: defaultWatch, untracked: 'follow' }]);
    expect(accounts[0]?.clientSecret).toBe('partner-secret');
  });

  it('reads the business account, whose token address is its base URL unless it has its own', () => {
    const { accounts } = loadConfig({ ...businessEnv, FARETRAIL_BUSINESS_AUTH_URL: 'https://auth.example/' });
    const business = { name: 'business', businessId: businessEnv.FARETRAIL_BUSINESS_ID };
    expect(accounts).toMatchObject([{ ...business, authUrl: 'https://auth.example' }]);
    expect(loadConfig(businessEnv).accounts).toMatchObject([{ ...business, authUrl: 'https://business.example' }]);
  });

  it.each([
    ['FARETRAIL_PARTNER_BASE_URL', ['FARETRAIL_PARTNER_CLIENT_ID', 'FARETRAIL_PARTNER_CLIENT_SECRET']],
    ['FARETRAIL_BUSINESS_CLIENT_SECRET', ['BASE_URL', 'CLIENT_ID', 'ID'].map((end) => `FARETRAIL_BUSINESS_${end}`)],
  ])('lists what is missing when only %s is set', (name, missing) => {
    const problems = problemsOf(() => loadConfig({ [name]: { ...partnerEnv, ...businessEnv }[name] }));
    expect(problems.map((problem) => problem.split(':')[0])).toEqual(missing);
    expect(problems.every((problem) => /: missing; set it.* or unset every/.test(problem))).toBe(true);
  });
});

describe('the accounts file', () => {
  const env = { FARETRAIL_ACCOUNTS_FILE: 'accounts.json', FARETRAIL_ACME_SECRET: 'acme-secret' };
  const acme = {
    interface: 'business',
    baseUrl: 'https://business.example/',
    clientId: 'acme-id',
    clientSecret: { env: 'FARETRAIL_ACME_SECRET' },
    businessId: '7b0c1d7e-5a53-4d7e-9d0c-1f2a3b4c5d6e',
  };

  it('gives any number of accounts beside those of the environment, with secrets from variables or files', () => {
    const globex = { ...acme, clientSecret: { file: '/run/globex' } };
    const accounts = JSON.stringify({ accounts: { acme, globex } });
    const config = loadConfig({ ...partnerEnv, ...env }, files({ 'accounts.json': accounts, '/run/globex': 'word\n' }));
    expect(config.accounts.map(({ name, clientSecret }) => [name, clientSecret])).toEqual([
      ['partner', 'partner-secret'],
      ['acme', 'acme-secret'],
      ['globex', 'word'],
    ]);
  });

  it('gives an account what it sets for itself, and the rest from the deployment', () => {
    const own = { ...acme, poll: { activeMs: 200 }, requestsPerSecond: 0.5, untracked: 'ignore' };
    const config = loadConfig({ ...env, FARETRAIL_POLL_PUSHED_MS: '7000' }, accountsFile({ acme: own }));
    const { clientSecret: _, ...rest } = own;
    const urls = { baseUrl: 'https://business.example', authUrl: 'https://business.example' };
    const poll = { activeMs: 200, reservedMs: 300_000, pushedMs: 7000 };
    expect(config.accounts).toEqual([{ name: 'acme', ...rest, ...urls, poll, watch: defaultWatch }]);
  });

  const watchOf = (watch: unknown, more: Record<string, string> = {}) =>
    loadConfig({ ...env, ...more }, accountsFile({ acme: { ...acme, watch } })).accounts[0]?.watch;

  it('says when rides of an account show attention, in part or not at all', () => {
    const { stuckAfterMs } = defaultWatch;
    expect(watchOf({})).toEqual(defaultWatch);
    expect(watchOf(false)).toEqual(noWatch);
    expect(watchOf({ latePickupAfterMs: null })).toEqual({ ...defaultWatch, latePickupAfterMs: null });
    expect(watchOf({ stuckAfterMs: { Routing: 5_000, Driving: null }, customerCare: false })).toEqual({
      ...{ ...defaultWatch, customerCare: false },
      stuckAfterMs: { ...stuckAfterMs, Routing: 5_000, Driving: null },
    });
  });

  it('comes before FARETRAIL_WATCH, which is for all accounts', () => {
    const off = { FARETRAIL_WATCH: 'off' };
    expect(loadConfig({ ...partnerEnv, ...off }).accounts[0]?.watch).toEqual(noWatch);
    expect(watchOf({ customerCare: true }, off)).toEqual({ ...noWatch, customerCare: true });
    expectProblem(() => loadConfig({ FARETRAIL_WATCH: 'no' }), 'FARETRAIL_WATCH: must be one of on, off');
  });

  it.each([
    ['a word that is no status', { stuckAfterMs: { Stuck: 5_000 } }, 'watch.stuckAfterMs: Unrecognized key: "Stuck"'],
    ['a status that ends an order', { stuckAfterMs: { Completed: 5_000 } }, 'Unrecognized key: "Completed"'],
    ['a status in another spelling', { stuckAfterMs: { driving: 5_000 } }, 'Unrecognized key: "driving"'],
    ['a misspelt field', { latePickup: 5_000 }, 'watch: Unrecognized key: "latePickup"'],
    ['a threshold below a second', { latePickupAfterMs: 999 }, 'watch.latePickupAfterMs: '],
    ['a threshold that is a text', { stuckAfterMs: { Routing: '5m' } }, 'watch.stuckAfterMs.Routing: '],
    ['true', true, 'watch: '],
  ])('is refused with a watch that holds %s', (_, watch, problem) => {
    const problems = problemsOf(() => watchOf(watch));
    expect(problems).toEqual([expect.stringContaining(problem)]);
  });

  const at = 'FARETRAIL_ACCOUNTS_FILE: accounts';
  const either = 'partner" or "business';
  it.each<[string, Record<string, unknown>, string[]]>([
    [
      'a secret in clear, and says where it belongs',
      { acme: { ...acme, clientSecret: 'word' } },
      [
        `${at}.acme.clientSecret: must be {"env": "NAME"} or {"file": "PATH"}; a secret itself does not belong in this file, move it there and rotate it`,
        'FARETRAIL_ACME_SECRET: not a setting; correct it (docs/reference/settings.md) or unset it, or name it in FARETRAIL_ACCOUNTS_FILE as the place of a secret',
      ],
    ],
    [
      'an unset variable without naming it',
      { acme: { ...acme, clientSecret: { env: 'NOT_SET' } }, other: acme },
      [`${at}.acme.clientSecret: the variable that "env" names is not set; set it`],
    ],
    ['a bad name', { 'Acme Inc': acme }, [`${at}.Acme Inc: a name must be 1 to 40 characters of a-z, 0-9 and "-"`]],
    ['a third interface', { acme: { ...acme, interface: 'x' } }, [`${at}.acme.interface: must be "${either}"`]],
    ['a name of the environment', { partner: acme }, [`${at}.partner also comes from FARETRAIL_PARTNER_*; rename one`]],
  ])('is refused with %s', (_, accounts, problems) => {
    expect(problemsOf(() => loadConfig({ ...partnerEnv, ...env }, accountsFile(accounts)))).toEqual(problems);
  });

  it('has all problems of all its accounts reported at once', () => {
    const settings = { baseUrl: 'http://far.example', clientSecret: { env: 'NOT_SET' }, poll: { activeMs: 1 } };
    const bad = { ...acme, ...settings, rate: 2 };
    const problems = problemsOf(() => loadConfig(env, accountsFile({ bad, worse: 7, acme })));
    expect(problems).toHaveLength(5);
    for (const place of ['bad.clientSecret', 'bad.baseUrl', 'bad.poll.activeMs', 'bad: ', 'worse: '])
      expect(problems).toContainEqual(expect.stringContaining(`${at}.${place}`));
  });

  it('leaves the names of variables unchecked while it cannot be read', () => {
    const load = () => loadConfig(env, files({ 'accounts.json': 'nonsense' }));
    expectProblem(load, 'FARETRAIL_ACCOUNTS_FILE: the file is not valid JSON; check it with a JSON linter');
  });
});
