import { describe, expect, it } from 'vitest';
import { loadConfig, loadIngressConfig, loadWorkerConfig } from '../../src/config.js';
import { encodedKey, partnerEnv, problemsOf, sealingEnv } from './env.js';

const secrets = `n2:${encodedKey(8)},n1:${Buffer.alloc(24, 9).toString('base64url')}`;
const notifyEnv = {
  FARETRAIL_NOTIFY_ORIGINS: 'https://orders.example.com, https://Shop.example:8443/',
  FARETRAIL_NOTIFY_SECRETS: secrets,
};

describe('notices by URL', () => {
  it('have origins, and secrets in their order', () => {
    const { notify } = loadConfig(notifyEnv);
    expect(notify.origins).toEqual(['https://orders.example.com', 'https://shop.example:8443']);
    expect(notify.secrets?.map(({ kid, key }) => [kid, key.length])).toEqual([
      ['n2', 32],
      ['n1', 24],
    ]);
    expect(JSON.stringify(notify)).not.toContain(encodedKey(8));
  });

  it.each([
    'orders.example.com',
    'http://orders.example.com',
    'https://orders.example.com/hooks',
    'https://orders.example.com?x=1',
    'https://user:word@orders.example.com',
    'https://orders.example.com,',
    '*',
  ])('refuse the origin %s by its position', (origin) => {
    const env = { ...notifyEnv, FARETRAIL_NOTIFY_ORIGINS: `https://ok.example,${origin}` };
    const [problem, ...others] = problemsOf(() => loadConfig(env));
    expect(problem).toMatch(/^FARETRAIL_NOTIFY_ORIGINS: entry [23] must be an https origin/);
    expect(others).toEqual([]);
  });

  it('go to a loopback origin only where private addresses are allowed', () => {
    const env = { ...notifyEnv, FARETRAIL_NOTIFY_ORIGINS: 'http://localhost:9000' };
    const problem = /^FARETRAIL_NOTIFY_ORIGINS: entry 1 is a loopback address; set FARETRAIL_NOTIFY_PRIVATE=true/;
    expect(problemsOf(() => loadConfig(env))).toEqual([expect.stringMatching(problem)]);
    expect(loadConfig({ ...env, FARETRAIL_NOTIFY_PRIVATE: 'true' }).notify).toMatchObject({ allowsPrivate: true });
  });

  it.each([
    ['one that is too short', `n1:${Buffer.alloc(23, 1).toString('base64url')}`],
    ['one that is too long', `n1:${Buffer.alloc(65, 1).toString('base64url')}`],
    ['one that is no base64url', `n1:${'+'.repeat(43)}`],
    ['one of a length that base64url never has', `n1:${'A'.repeat(33)}`],
    ['one in the form that receivers use', `n1:whsec_${Buffer.alloc(32, 1).toString('base64')}`],
  ])('refuse as a secret %s, by name and without the value', (_, value) => {
    const [problem, ...others] = problemsOf(() => loadConfig({ FARETRAIL_NOTIFY_SECRETS: value }));
    expect(problem).toMatch(/^FARETRAIL_NOTIFY_SECRETS: entry 1 must hold 24 to 64 bytes as base64url/);
    expect(problem).not.toContain(value.slice(3));
    expect(others).toEqual([]);
  });

  // Receivers hold the secrets: they must not be able to open tokens, nor to make addresses of the ingress.
  it.each(['FARETRAIL_SEALING_KEYS', 'FARETRAIL_WEBHOOK_KEYS'])('refuse a secret that is a key of %s', (name) => {
    const env = { [name]: `k1:${encodedKey(3)}`, FARETRAIL_NOTIFY_SECRETS: `n1:${encodedKey(3)}` };
    expect(problemsOf(() => loadConfig(env))).toEqual([
      expect.stringMatching(`^FARETRAIL_NOTIFY_SECRETS: holds a key of ${name}`),
    ]);
  });

  it('need secrets once they have origins', () => {
    const env = { ...partnerEnv, ...sealingEnv, FARETRAIL_NOTIFY_ORIGINS: 'https://orders.example.com' };
    expect(problemsOf(() => loadWorkerConfig(env))).toEqual([
      expect.stringMatching(/^FARETRAIL_NOTIFY_SECRETS: missing; make one with: /),
    ]);
  });

  it('are switched off in the ingress', () => {
    const env = { ...partnerEnv, ...notifyEnv, FARETRAIL_WEBHOOK_KEYS: `w1:${encodedKey(5)}` };
    expect(loadIngressConfig(env).notify).toEqual({ origins: [], secrets: null, allowsPrivate: false });
  });
});
