import { defaultPayloadConverter } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import type { Session } from '../../src/cli/command.js';
import { type Check, checkNode, checkWatches } from '../../src/cli/doctor.js';
import { encodedKey, partnerEnv } from '../settings/env.js';
import { jsonFile } from '../support/json-file.js';
import { nowhere, runHere } from './fake-process.js';

const partner = { ...nowhere, ...partnerEnv };
const checksOf = async (env: Record<string, string | undefined>) => {
  const { exitCode, stdout } = await runHere(['doctor', '--json'], env);
  const { isWell, checks } = JSON.parse(stdout) as { isWell: boolean; checks: Check[] };
  return { exitCode, isWell, checks: checks.filter(({ name }) => name !== 'Node'), stdout };
};

it('the doctor warns of a Node without security releases, and does not fail because of it', () => {
  const resultOf = (version: string, date: string) => checkNode(version, Date.parse(date)).result;
  expect(resultOf('24.21.0', '2026-11-23')).toBe('ok');
  expect(resultOf('24.21.0', '2028-05-01')).toBe('warned');
  for (const old of ['20.20.2', '23.1.0', '25.9.0']) expect(resultOf(old, '2026-11-23')).toBe('warned');
  expect(resultOf('28.0.0', '2029-06-01')).toBe('ok');
});

describe('the doctor about the watch of an account', () => {
  const pulse = { orders: 100, lateMs: 0, pollsPerSecond: 9, since: '2031-05-01T10:00:00.000Z' };
  /** Of an account with a budget of ten requests a second. */
  const checkAt = async (activity: object, isOpen = true) => {
    const raw = { pendingActivities: [activity] };
    const found = { status: { name: isOpen ? 'RUNNING' : 'COMPLETED' }, startTime: new Date(), raw };
    const workflow = { getHandle: () => ({ describe: async () => found }), count: async () => ({ count: 0 }) };
    const session = {
      client: {
        workflow,
        withDeadline: (_: number, act: () => Promise<unknown>) => act(),
        options: { loadedDataConverter: { payloadConverter: defaultPayloadConverter, payloadCodecs: [] } },
      },
      config: { taskQueue: 'q', accounts: [{ name: 'partner', requestsPerSecond: 10 }] },
      inTime: (act: () => Promise<unknown>) => act(),
    } as unknown as Session;
    return (await checkWatches(session))[0];
  };
  const heldWith = (told: object) => ({
    ...{ state: 2, lastWorkerIdentity: '1@w' },
    heartbeatDetails: { payloads: [defaultPayloadConverter.toPayload(told)] },
  });

  it('names the worker, and warns when an order is a minute later than its share of the budget', async () => {
    const message = 'orders: 100, polled by 1@w, the latest 70 s late';
    const inTime = { name: 'watch of partner', result: 'ok', message };
    expect(await checkAt(heldWith({ ...pulse, lateMs: 70_000 }))).toEqual(inTime);
    const isLate = { result: 'warned', message: expect.stringMatching(/71 s late; .*requestsPerSecond/) };
    expect(await checkAt(heldWith({ ...pulse, lateMs: 71_000 }))).toMatchObject(isLate);
    expect(await checkAt({ state: 2, lastWorkerIdentity: '1@w' })).toMatchObject({ message: 'polled by 1@w' });
    expect(await checkAt({ state: 1 }, false)).toMatchObject({ result: 'ok', message: 'no live order' });
  });
});

describe('the doctor without Temporal', () => {
  it('names the remedy, makes all other checks, and ends with 1', async () => {
    const { stdout, ...found } = await checksOf(partner);
    const checks = [
      { name: 'settings', result: 'ok', message: 'usable; accounts: partner' },
      { name: 'Temporal', result: 'failed', message: expect.stringContaining('TEMPORAL_ADDRESS') },
      { name: 'workers', result: 'skipped', message: expect.any(String) },
    ];
    expect(found).toEqual({ exitCode: 1, isWell: false, checks });
    expect(stdout).not.toContain('partner-secret');
  });

  it('skips an ingress whose port the system chooses', async () => {
    const ingress = { FARETRAIL_WEBHOOK_KEYS: `w1:${encodedKey(1)}`, FARETRAIL_INGRESS_PORT: '0' };
    const { checks } = await checksOf({ ...partner, ...ingress });
    const message = expect.stringContaining('FARETRAIL_INGRESS_PORT');
    expect(checks.at(-1)).toMatchObject({ name: 'ingress', result: 'skipped', message });
  });

  it('names each bad setting on a line of its own', async () => {
    const env = { ...partner, FARETRAIL_CONTRACT_FILE: '/nonexistent.json', FARETRAIL_METRICS_PORT: 'x' };
    const { exitCode, stdout, stderr } = await runHere(['doctor'], env);
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: '' });
    expect(stdout).toMatch(/^FAIL {2}settings +FARETRAIL_CONTRACT_FILE: /m);
    expect(stdout).toMatch(/^FAIL {2}settings +FARETRAIL_METRICS_PORT: /m);
    expect(stdout).toMatch(/^skip {2}Temporal /m);
  });

  it('goes on to Temporal when only a secret is missing', async () => {
    const { checks } = await checksOf({ ...partner, FARETRAIL_PARTNER_CLIENT_SECRET: undefined });
    const results = checks.map(({ name, result }) => `${name} ${result}`);
    expect(results).toEqual(['settings failed', 'Temporal failed', 'workers skipped']);
  });

  it('refuses a contract profile that is not in force for a wrong field by its name', async () => {
    const file = jsonFile({ operations: { orderDetails: { path: '/v1/orders', succes: [200] } } });
    const { exitCode, stdout } = await runHere(['doctor', '--contract', file], partner);
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^FAIL {2}settings +FARETRAIL_CONTRACT_FILE: .*orderDetails\.succes: unknown field/m);
    expect(stdout).toMatch(/operations\.orderDetails\.path: must hold \{order_id\}/);
  });

  it('takes a contract profile in place of one in force that cannot be used', async () => {
    const env = { ...partner, FARETRAIL_CONTRACT_FILE: '/nonexistent.json' };
    const { stdout } = await runHere(['doctor', '--contract', jsonFile({})], env);
    expect(stdout).toMatch(/^ok {4}settings +usable; accounts: partner$/m);
  });
});
