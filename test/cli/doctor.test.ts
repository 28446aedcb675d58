import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Check } from '../../src/cli/doctor/checks.js';
import { nowhere, runHere } from './fake-process.js';

const listening = createServer((socket) => socket.destroy());
let port = 0;
beforeAll(async () => {
  listening.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  port = (listening.address() as AddressInfo).port;
});
afterAll(() => listening.close());

const partner = (at: number) => ({
  ...nowhere,
  FARETRAIL_PARTNER_BASE_URL: `http://127.0.0.1:${at}`,
  FARETRAIL_PARTNER_CLIENT_ID: 'an-id',
  FARETRAIL_PARTNER_CLIENT_SECRET: 'a-very-secret-secret',
});
const checksOf = async (env: Record<string, string | undefined>) => {
  const { exitCode, stdout } = await runHere(['doctor', '--json'], env);
  return { exitCode, ...(JSON.parse(stdout) as { isWell: boolean; checks: Check[] }), stdout };
};

describe('the doctor without Temporal', () => {
  it('says so with the remedy, checks all the rest, and ends with 1', async () => {
    const { exitCode, isWell, checks, stdout } = await checksOf(partner(port));
    expect({ exitCode, isWell }).toEqual({ exitCode: 1, isWell: false });
    expect(checks).toEqual([
      { name: 'settings', result: 'ok', message: 'usable; accounts: partner' },
      { name: 'Temporal', result: 'failed', message: expect.stringContaining('TEMPORAL_ADDRESS') },
      { name: 'workers, tokens', result: 'skipped', message: expect.any(String) },
      { name: 'base URL of partner', result: 'ok', message: `http://127.0.0.1:${port} takes connections` },
    ]);
    expect(stdout).not.toContain('a-very-secret-secret');
  });

  it('skips an ingress whose port the system chooses', async () => {
    const keys = { FARETRAIL_WEBHOOK_KEYS: `w1:${Buffer.alloc(32, 1).toString('base64url')}` };
    const { checks } = await checksOf({ ...partner(port), ...keys, FARETRAIL_INGRESS_PORT: '0' });
    const message = expect.stringContaining('FARETRAIL_INGRESS_PORT');
    expect(checks.at(-1)).toMatchObject({ name: 'ingress', result: 'skipped', message });
  });

  it('names an address at which nothing listens', async () => {
    const { checks } = await checksOf(partner(1));
    expect(checks.at(-1)).toMatchObject({ result: 'failed', message: expect.stringContaining('ECONNREFUSED') });
  });

  it('names each bad setting on a line of its own', async () => {
    const env = { ...partner(port), FARETRAIL_CONTRACT_FILE: '/nonexistent.json', FARETRAIL_METRICS_PORT: 'x' };
    const { exitCode, stdout, stderr } = await runHere(['doctor'], env);
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: '' });
    expect(stdout).toMatch(/^FAIL {2}settings +FARETRAIL_CONTRACT_FILE: /m);
    expect(stdout).toMatch(/^FAIL {2}settings +FARETRAIL_METRICS_PORT: /m);
    expect(stdout).toMatch(/^skip {2}Temporal /m);
  });

  it('goes on to Temporal when only a secret is missing', async () => {
    const { checks } = await checksOf({ ...partner(port), FARETRAIL_PARTNER_CLIENT_SECRET: undefined });
    const results = checks.map(({ name, result }) => `${name} ${result}`);
    expect(results).toEqual(['settings failed', 'Temporal failed', 'workers, tokens skipped']);
  });
});
