import { describe, expect, it } from 'vitest';
import { loadCliConfig, loadWorkerConfig } from '../../src/config.js';
import { accountsFile, files, partnerEnv, problemsOf, sealingEnv } from './env.js';

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
