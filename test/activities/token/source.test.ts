import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, it } from 'vitest';
import { type AccessToken, type TokenSource, TokenUnavailable } from '../../../src/activities/token.js';
import { emptyLease } from '../../../src/domain/token-lease.js';
import { minute, second } from '../temporal.js';
import { createClock } from './clock.js';
import { account, ofActivity, scope, TokenFleet } from './fleet.js';

const hour = 60 * minute;

function setUp() {
  const clock = createClock();
  const fleet = new TokenFleet(clock);
  const source = fleet.newProcess();
  /** One call, for as long as it takes. */
  const get = (rejected?: string, from = source): Promise<AccessToken> =>
    clock.until(from.get(account, scope, rejected));
  const refusal = async (rejected?: string, from = source): Promise<TokenUnavailable> => {
    const outcome = await get(rejected, from).catch((error: unknown) => error);
    if (outcome instanceof TokenUnavailable) return outcome;
    throw outcome;
  };
  const newProcesses = (count: number) => Array.from({ length: count }, () => fleet.newProcess());
  /** The different ids that these get when they ask at once. */
  const idsAtOnce = async (from: readonly TokenSource[], rejected?: string): Promise<string[]> => {
    const tokens = from.map((each) => each.get(account, scope, rejected));
    return [...new Set((await clock.until(Promise.all(tokens))).map(({ id }) => id))];
  };
  return { clock, fleet, source, get, refusal, newProcesses, idsAtOnce };
}

/** A fleet with a process that holds `token-1`. */
async function setUpWithToken() {
  const parts = setUp();
  await parts.get();
  return parts;
}

it('a first token costs one request, and the process then serves it from memory', async () => {
  const { fleet, get } = setUp();
  expect(await get()).toMatchObject({ id: 'token-1', value: 'clear token-1' });
  const { reads } = fleet;
  for (let index = 0; index < 100; index += 1) expect((await get()).id).toBe('token-1');
  expect(fleet.requests).toHaveLength(1);
  expect(fleet.reads).toBe(reads);
});

it('a process never serves the token of one account to another', async () => {
  const { clock, fleet, source } = setUp();
  await clock.until(source.get(account, scope));
  const keys: string[] = [];
  const { read } = fleet.leases;
  fleet.leases.read = (key) => {
    keys.push(`${key.account} ${key.scope} ${key.credentialId}`);
    return read(key);
  };
  // The seal of the fake opens for one lease only, so that a token of another lease is never served.
  const other = { ...account, name: 'other' as typeof account.name };
  await expect(clock.until(source.get(other, scope))).rejects.toThrow('not sealed for it');
  expect(keys).toContain('other demand_partner c-1');
});

it('a rejected token costs one request and one message of each process, for 10,000 calls of 100 processes', async () => {
  const { fleet, newProcesses, idsAtOnce } = setUp();
  const processes = newProcesses(100);
  await idsAtOnce(processes);
  const asked = fleet.asked.length;
  expect(await idsAtOnce(Array(100).fill(processes).flat(), 'token-1')).toEqual(['token-2']);
  expect(fleet.requests).toHaveLength(2);
  expect(fleet.asked.length - asked).toBeLessThanOrEqual(100);
});

it('a token serves on while the process asks for the next one, once', async () => {
  const { clock, fleet, source, get } = await setUpWithToken();
  await clock.advance(hour - 30 * second); // renewed a minute ahead, spread over half of that
  const asked = Array.from({ length: 50 }, () => source.get(account, scope));
  const tokens = await Promise.all(asked); // not one of them waits
  expect(new Set(tokens.map(({ id }) => id))).toEqual(new Set(['token-1']));
  await clock.advance(2 * second);
  expect((await get()).id).toBe('token-2');
  expect(fleet.requests).toHaveLength(2);
  expect(fleet.asked).toEqual([null, 'token-1']);
});

it('a process asks for no next token while a call of it waits for one', async () => {
  const { clock, fleet, source, get } = await setUpWithToken();
  await clock.advance(hour - 30 * second);
  const renewed = source.get(account, scope, 'token-1');
  expect((await get()).id).toBe('token-1');
  expect((await clock.until(renewed)).id).toBe('token-2');
  expect(fleet.asked).toEqual([null, 'token-1']);
});

it('processes that hold one token do not ask for the next one all at once', async () => {
  const { clock, fleet, newProcesses } = setUp();
  const processes = newProcesses(100);
  const askAll = () => clock.until(Promise.all(processes.map((each) => each.get(account, scope))));
  await askAll();
  await clock.advance(hour - minute);
  const asked = fleet.asked.length;
  await askAll();
  await clock.advance(second); // a thirtieth of the time over which they spread
  await askAll();
  expect(fleet.asked.length - asked).toBeLessThan(30);
});

it('a token whose renewal fails serves to its end, and the process does not ask in a loop', async () => {
  const { clock, fleet, get, refusal } = await setUpWithToken();
  fleet.trouble = { code: 'credentialsRejected', retryAfterMs: null };
  await clock.advance(hour - 30 * second);
  const { reads } = fleet;
  for (let elapsed = 0; elapsed < 29; elapsed += 1) {
    expect((await get()).id).toBe('token-1');
    await clock.advance(second);
  }
  expect(fleet.reads - reads).toBeLessThan(20); // tried again every five seconds, not on every call
  expect(fleet.requests).toHaveLength(2);
  await clock.advance(2 * second);
  expect(await refusal()).toMatchObject({ code: 'credentialsRejected' });
});

it('a token that ended before it was seen is asked for again', async () => {
  const { clock, fleet, source } = setUp();
  fleet.lifetimeMs = 100; // the service takes longer to answer
  const asked = source.get(account, scope);
  await clock.advance(second);
  fleet.lifetimeMs = hour;
  expect((await clock.until(asked)).id).toBe(`token-${fleet.requests.length}`);
});

it('a process that only polls, which belong to no activity, knows a token by its age', async () => {
  const { clock, fleet, get } = await setUpWithToken();
  const polling = fleet.newProcess(3 * minute, ofActivity);
  expect((await get(undefined, polling)).id).toBe('token-1');
  await clock.advance(hour + second);
  expect((await get(undefined, polling)).id).toBe('token-2');
});

it('a process that knew nothing of the server when it took a token ends it in time once a task shows the time', async () => {
  const { clock, fleet, get } = await setUpWithToken();
  await clock.advance(hour - 2 * second);
  let passed: number | undefined;
  const late = fleet.newProcess(3 * minute, () => passed);
  expect((await get(undefined, late)).id).toBe('token-1');
  await clock.advance(3 * second);
  expect((await get(undefined, late)).id, 'as far as it knows').toBe('token-1');
  passed = fleet.serverNow();
  expect((await get(undefined, late)).id).toBe('token-2');
});

it('an attempt that Temporal starts before it is due has no token replaced', async () => {
  const { clock, fleet, get } = await setUpWithToken();
  const times = { scheduledTimestampMs: clock.now(), currentAttemptScheduledTimestampMs: clock.now() + 2 * hour };
  const early = fleet.newProcess(0, ofActivity);
  for (let calls = 0; calls < 2; calls += 1) await new MockActivityEnvironment(times).run(() => get(undefined, early));
  expect(fleet.asked).toEqual([null]);
});

it('tokens that are rejected one after the other are replaced twice; then the call fails, and others use the last one', async () => {
  const { clock, fleet, get, refusal } = await setUpWithToken();
  await get('token-1');
  await get('token-2');
  const { code, afterMs } = await refusal('token-3');
  expect([code, Math.ceil(afterMs / second)]).toEqual(['credentialsRejected', 30]);
  expect((await get()).id).toBe('token-3');
  expect((await get(undefined, fleet.newProcess())).id).toBe('token-3');
  await clock.advance(afterMs);
  expect((await get('token-3')).id).toBe('token-4');
  expect(fleet.requests).toHaveLength(4);
});

it('calls fail at once while a failure cools down, and the first one after it asks again', async () => {
  const { clock, fleet, get, refusal } = setUp();
  fleet.trouble = { code: 'scopeRejected', retryAfterMs: null };
  const { code, message, afterMs } = await refusal();
  expect([code, message]).toEqual(['scopeRejected', 'scopeRejected it is']);
  const before = clock.now();
  expect(afterMs).toBeGreaterThan(58 * second);
  for (let index = 0; index < 50; index += 1) await refusal();
  await refusal(undefined, fleet.newProcess());
  expect(clock.now()).toBe(before); // no call waited
  fleet.trouble = null;
  await clock.advance(afterMs - 1);
  await refusal();
  expect(fleet.requests).toHaveLength(1);
  await clock.advance(1);
  expect((await get()).id).toBe('token-2');
});

it('a call whose activity was scheduled long ago waits for the rest of a cool-down, by the clock of the lease', async () => {
  const { clock, fleet, refusal } = setUp();
  const scheduledAt = fleet.serverNow(); // all that the process knows of the server's clock, through all retries
  const source = fleet.newProcess(0, () => scheduledAt);
  fleet.trouble = { code: 'scopeRejected', retryAfterMs: null };
  await refusal(undefined, source);
  await clock.advance(5 * minute);
  expect((await refusal(undefined, source)).afterMs).toBeGreaterThan(58 * second);
  await clock.advance(30 * second);
  const { afterMs } = await refusal(undefined, source);
  expect(afterMs).toBeGreaterThan(28 * second);
  expect(afterMs).toBeLessThanOrEqual(30 * second);
  expect(fleet.requests).toHaveLength(2);
});

it('a call gives up after ten seconds without an answer, and may try again in a second', async () => {
  const { clock, fleet, get, refusal } = setUp();
  fleet.isWorked = false;
  const before = clock.now();
  const error = await refusal();
  expect(error.code).toBe('upstreamUnavailable');
  expect(clock.now() - before).toBe(10 * second);
  expect(error.afterMs).toBe(second);
  fleet.isWorked = true;
  expect((await get()).id).toBe('token-1');
  expect(fleet.requests).toHaveLength(1);
});

it('a call fails with the published failure, though its cool-down passed before the next look', async () => {
  const { clock, fleet, refusal } = setUp();
  fleet.trouble = { code: 'upstreamUnavailable', retryAfterMs: null }; // a cool-down of a second
  const { read } = fleet.leases;
  fleet.leases.read = async (key) => {
    await clock.sleep(2 * second);
    return await read(key);
  };
  const before = clock.now();
  expect(await refusal()).toMatchObject({ message: 'upstreamUnavailable it is' });
  expect(clock.now() - before).toBeLessThan(5 * second);
  expect(fleet.requests).toHaveLength(1);
});

it('a lease that a stranger has written keeps no call waiting for longer than ten minutes', async () => {
  const { clock, fleet, refusal } = setUp();
  const at = new Date(clock.now()).toISOString();
  const failure = { code: 'scopeRejected', message: 'm', at, retryAt: '9999-01-01T00:00:00.000Z' } as const;
  fleet.leases.read = async () => ({ ...emptyLease, failure });
  expect((await refusal()).afterMs).toBe(10 * minute);
});

it('an unreadable lease fails the calls that wait for it, and disturbs none while the token in memory serves', async () => {
  const { clock, fleet, source, get } = setUp();
  fleet.unreadable = new Error('frontend unavailable');
  const outcomes = await clock.until(Promise.allSettled([1, 2].map(() => source.get(account, scope))));
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  fleet.unreadable = null;
  expect((await get()).id).toBe('token-1');
  await clock.advance(hour - 30 * second);
  fleet.unreadable = new Error('frontend unavailable');
  expect((await get()).id).toBe('token-1');
  await clock.advance(6 * second);
  fleet.unreadable = null;
  expect((await get()).id).toBe('token-1');
  await clock.advance(2 * second);
  expect((await get()).id).toBe('token-2');
});
