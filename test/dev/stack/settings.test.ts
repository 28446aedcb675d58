import { afterEach, expect, it, vi } from 'vitest';
import type { Sandbox } from '../../../dev/sandbox/sandbox.js';
import { localSettings } from '../../../dev/stack/run/settings.js';

afterEach(() => vi.unstubAllEnvs());

const settings = () =>
  localSettings({ sandbox: { url: 'http://127.0.0.1:1' } as Sandbox, ingressPort: 8480, journalDir: '/none' });

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
