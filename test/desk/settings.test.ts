import { expect, it } from 'vitest';
import { loadCliConfig } from '../../src/config.js';

const provider = {
  ...{ FARETRAIL_DESK_ISSUER: 'https://login.example.com/', FARETRAIL_DESK_CLIENT_ID: 'desk' },
  FARETRAIL_DESK_CLIENT_SECRET: 'hush',
};
const everywhere = { FARETRAIL_DESK_HOST: '0.0.0.0', FARETRAIL_DESK_URL: 'https://desk.example.com' };

it('the desk listens at the loopback address, with one local user', () => {
  expect(loadCliConfig({}).desk).toMatchObject({ host: '127.0.0.1', port: 8482, url: null, login: null });
});

it.each<[string, Record<string, string>, string]>([
  ['elsewhere', { FARETRAIL_DESK_HOST: '0.0.0.0' }, 'FARETRAIL_DESK_ISSUER: missing'],
  ['at a name that may mean another place', { FARETRAIL_DESK_HOST: 'localhost' }, 'FARETRAIL_DESK_ISSUER: missing'],
  ['behind a proxy', { FARETRAIL_DESK_URL: 'https://desk.example.com' }, 'FARETRAIL_DESK_ISSUER: missing'],
  ['without its address', { ...provider, FARETRAIL_DESK_HOST: '0.0.0.0' }, 'FARETRAIL_DESK_URL: missing'],
  [
    'in clear',
    { ...provider, ...everywhere, FARETRAIL_DESK_URL: 'http://desk.example.com' },
    'FARETRAIL_DESK_URL: must be an https',
  ],
  ['without a client', { FARETRAIL_DESK_ISSUER: 'https://login.example.com' }, 'FARETRAIL_DESK_CLIENT_SECRET: missing'],
  ['with a right that is none', { FARETRAIL_DESK_ROLES: 'view:a,admin:b' }, 'FARETRAIL_DESK_ROLES: entry 2 must be'],
])('it does not start %s', (_, env, problem) => {
  expect(() => loadCliConfig(env)).toThrow(problem);
});

it('it starts elsewhere with a provider, whose secret no print shows', () => {
  const { desk } = loadCliConfig({ ...provider, ...everywhere, FARETRAIL_DESK_ROLES: 'view:dispatch, act:leads' });
  expect(desk.login).toMatchObject({
    ...{ issuer: 'https://login.example.com', clientId: 'desk', clientSecret: 'hush', rolesClaim: 'roles' },
    roles: [
      { right: 'view', role: 'dispatch' },
      { right: 'act', role: 'leads' },
    ],
  });
  expect(JSON.stringify(desk)).not.toContain('hush');
});
