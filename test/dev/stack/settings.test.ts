import { afterEach, expect, it, vi } from 'vitest';
import type { Sandbox } from '../../../dev/sandbox/sandbox.js';
import { localSettings } from '../../../dev/stack/run/settings.js';

afterEach(() => vi.unstubAllEnvs());

const sandbox = { url: 'http://127.0.0.1:1' } as Sandbox;
const before = { FARETRAIL_SEALING_KEYS: 'k1:before', FARETRAIL_WEBHOOK_KEYS: 'w1:before' };
const settings = () => localSettings({ sandbox, ingressPort: 8480, before });

it.each([
  ['FARETRAIL_BUSINESS_CLIENT_ID', ['partner']],
  ['FARETRAIL_PARTNER_BASE_URL', ['business']],
  ['FARETRAIL_ACCOUNTS_FILE', []],
])('the local stack keeps to the production cadence once %s is set', (name, sandboxed) => {
  vi.stubEnv(name, 'x');
  const found = settings();
  expect(found).toMatchObject({ sandboxed, isAllSandboxed: false });
  expect(Object.keys(found.env).filter((variable) => variable.includes('POLL'))).toEqual([]);
});

it('commands in another terminal find the public address that was set for the local stack', () => {
  expect(settings().env.FARETRAIL_PUBLIC_URL).toBe('http://127.0.0.1:8480');
  vi.stubEnv('FARETRAIL_PUBLIC_URL', 'https://rides.example');
  expect(settings().env.FARETRAIL_PUBLIC_URL).toBe('https://rides.example');
});

it('a real service keeps its subscriptions, so the local stack keeps its keys, or takes those that are set', () => {
  expect(settings().env.FARETRAIL_WEBHOOK_KEYS).toMatch(/^local:/);
  vi.stubEnv('FARETRAIL_BUSINESS_CLIENT_ID', 'x');
  expect(settings().env).toMatchObject(before);
  vi.stubEnv('FARETRAIL_WEBHOOK_KEYS', 'w2:given');
  expect(settings().env).toMatchObject({ ...before, FARETRAIL_WEBHOOK_KEYS: 'w2:given' });
});
