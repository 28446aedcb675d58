import { describe, expect, it } from 'vitest';
import {
  type AuthorizedCall,
  createAuthorizedCall,
  createQuietTimes,
  QuietTime,
} from '../../../src/activities/authorized-call.js';
import { TokenUnavailable } from '../../../src/activities/token-source.js';
import { RideApiError } from '../../../src/ride-api/errors.js';
import { apiError } from '../service.js';
import { minute, second } from '../temporal.js';
import { createClock } from './clock.js';
import { account, scope, TokenFleet } from './fleet.js';

interface Service {
  /** How long its tokens live; what it says in `expires_in` is `lifetimeMs` of the fleet. */
  realMs: number;
  /** Operations that it answers with 401 whatever the token. */
  rejects: (operation: string) => boolean;
}

/** Three workers whose clocks differ, and a service that knows how old a token is. */
function createWorkers(service: Service, aheadMs = [0, 3 * second, -3 * second]) {
  const clock = createClock();
  const fleet = new TokenFleet(clock);
  const quietTimes = createQuietTimes(clock.now);
  const calls = aheadMs.map((ahead): AuthorizedCall => {
    const now = () => clock.now() + ahead;
    return createAuthorizedCall({ tokens: fleet.newProcess(ahead), quietTimes, now });
  });

  async function send(token: string, operation: string): Promise<string> {
    const request = fleet.requests.find(({ obtained }) => `clear ${obtained?.id}` === token);
    if (!request) throw new Error('a token that the service did not issue');
    if (service.rejects(operation) || clock.now() >= request.at + service.realMs) throw apiError('TOKEN_REJECTED');
    return 'served';
  }

  /** One call by any of the workers. */
  async function call(operation = 'readOrder'): Promise<string> {
    const worker = calls[Math.floor(Math.random() * calls.length)] as AuthorizedCall;
    try {
      return await worker(account, scope, operation, (token) => send(token, operation));
    } catch (error) {
      if (error instanceof TokenUnavailable || error instanceof RideApiError) return error.code;
      if (error instanceof QuietTime) return 'waits a moment';
      throw error;
    }
  }

  /** Calls every so often for a while. Gives the outcomes, and the longest time without a call that was served. */
  async function work(forMs: number, everyMs: number, operations: readonly string[] = ['readOrder']) {
    const outcomes: Record<string, number> = {};
    const underWay: Promise<void>[] = [];
    let servedAt = clock.now();
    let longestGapMs = 0;
    for (let passedMs = 0; passedMs < forMs; passedMs += everyMs) {
      for (const operation of operations) {
        underWay.push(
          call(operation).then((outcome) => {
            outcomes[`${operation}: ${outcome}`] = (outcomes[`${operation}: ${outcome}`] ?? 0) + 1;
            if (outcome !== 'served' || operation !== 'readOrder') return;
            longestGapMs = Math.max(longestGapMs, clock.now() - servedAt);
            servedAt = clock.now();
          }),
        );
      }
      await clock.advance(everyMs);
    }
    await clock.until(Promise.all(underWay));
    return { outcomes, longestGapMs };
  }
  return { clock, fleet, work };
}

const servesAll = () => false;
const troubleIn = (outcomes: Record<string, number>) =>
  Object.keys(outcomes).filter((outcome) => !/: served|: waits/.test(outcome));
const believedMs = 300 * second; // where the service does not say how long a token lives

describe.each([15, 25, 45, 70])('tokens that live %d s', (lifetimeS) => {
  const realMs = lifetimeS * second;

  it.each([
    ['the service does not say so', { lifetimeMs: believedMs }, second, 1],
    ['no worker knows whether its token has served, since calls are rare', { lifetimeMs: believedMs }, 10 * second, 1],
    ...[0, 600 * second, -600 * second].map((requesterAheadMs) => {
      const settings = { lifetimeMs: realMs, requesterAheadMs };
      return [`the worker that requests them is ${requesterAheadMs} ms ahead`, settings, second, 0.8] as const;
    }),
  ] as const)(`tokens of ${lifetimeS} s cost one request each, though %s`, async (_, settings, everyMs, share) => {
    const { fleet, work } = createWorkers({ realMs, rejects: servesAll });
    Object.assign(fleet, settings);
    const { outcomes, longestGapMs } = await work(10 * minute, everyMs);
    expect(troubleIn(outcomes)).toEqual([]);
    expect(longestGapMs).toBeLessThan(everyMs + 3 * second);
    expect(fleet.requests.length).toBeLessThanOrEqual(Math.ceil(600 / (lifetimeS * share)));
  });
});

it('workers whose clocks are an hour apart waste no token, wait for none and ask seldom', async () => {
  const { fleet, work } = createWorkers({ realMs: 899 * second, rejects: servesAll }, [0, 3_600_000, -3_600_000]);
  fleet.lifetimeMs = 899 * second;
  const { outcomes, longestGapMs } = await work(60 * minute, second);
  expect(troubleIn(outcomes)).toEqual([]);
  expect(longestGapMs).toBeLessThan(3 * second);
  expect(fleet.requests.length).toBeLessThanOrEqual(5);
  expect(fleet.wishes.length).toBeLessThanOrEqual(5 * 4);
});

describe('a service that answers 401 whatever the token', () => {
  const everything = () => true;
  it.each([
    ['at once', 3_600],
    ['and does not say how long a token lives', 300],
  ])('a service that rejects every call %s costs two requests, then one a minute', async (_, believedS) => {
    const { fleet, work } = createWorkers({ realMs: 3_600 * second, rejects: everything });
    fleet.lifetimeMs = believedS * second;
    const { outcomes } = await work(10 * minute, second);
    expect(outcomes).not.toHaveProperty('readOrder: served');
    expect(outcomes['readOrder: credentialsRejected']).toBeGreaterThan(500);
    expect(fleet.requests.length).toBeLessThanOrEqual(2 + 10 + 3);
  });

  it('a service that rejects one operation costs a few requests and delays no other one, with tokens of 15 s', async () => {
    const rejects = (operation: string) => operation === 'readReceipt';
    const { fleet, work } = createWorkers({ realMs: 15 * second, rejects });
    fleet.lifetimeMs = believedMs;
    const { outcomes, longestGapMs } = await work(10 * minute, second, ['readOrder', 'readReceipt']);
    expect(outcomes).not.toHaveProperty('readReceipt: served');
    expect(outcomes).not.toHaveProperty('readOrder: credentialsRejected');
    expect(outcomes).not.toHaveProperty('readOrder: TOKEN_REJECTED');
    expect(longestGapMs).toBeLessThan(3 * second);
    expect(fleet.requests.length).toBeLessThanOrEqual(600 / 15 + 2 + 10);
  });

  it.each([
    ['', 3_600, 3_600],
    [', with tokens of 20 s about which it says nothing,', 20, 300],
  ])('a service that rejects calls by chance%s costs few requests', async (_, realS, believedS) => {
    const { fleet, work } = createWorkers({ realMs: realS * second, rejects: () => Math.random() < 0.1 });
    fleet.lifetimeMs = believedS * second;
    const { outcomes, longestGapMs } = await work(10 * minute, second / 5);
    expect(outcomes['readOrder: served']).toBeGreaterThan(2_500);
    expect(longestGapMs).toBeLessThan(12 * second);
    expect(fleet.requests.length).toBeLessThanOrEqual(3 + 60);
  });

  it('a service that rejected all calls for a while serves all of them a minute later', async () => {
    let isBroken = true;
    const { fleet, work } = createWorkers({ realMs: 3_600 * second, rejects: () => isBroken });
    await work(3 * minute, second);
    isBroken = false;
    const { outcomes } = await work(minute, second);
    expect(outcomes).toEqual({ 'readOrder: served': 60 });
    expect(fleet.requests.length).toBeLessThanOrEqual(2 + 3 + 3);
  });
});
