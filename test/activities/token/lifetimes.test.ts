import { describe, expect, it } from 'vitest';
import {
  type AuthorizedCall,
  createAuthorizedCall,
  createQuietTimes,
  QuietTime,
} from '../../../src/activities/authorized-call.js';
import { TokenUnavailable } from '../../../src/activities/token.js';
import { RideApiError } from '../../../src/ride-api/errors.js';
import { createRandom } from '../../support/random.js';
import { apiError } from '../service.js';
import { minute, second } from '../temporal.js';
import { createClock } from './clock.js';
import { account, scope, TokenFleet } from './fleet.js';

const random = createRandom();

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
    return createAuthorizedCall({ tokens: fleet.newProcess(ahead), quietTimes, monotonic: now });
  });

  async function send(token: string, operation: string): Promise<string> {
    const request = fleet.requests.find(({ obtained }) => `clear ${obtained?.id}` === token);
    if (!request) throw new Error('a token that the service did not issue');
    if (service.rejects(operation) || clock.now() >= request.at + service.realMs) throw apiError('TOKEN_REJECTED');
    return 'served';
  }

  /** One call by any of the workers. */
  async function call(operation = 'readOrder'): Promise<string> {
    const worker = calls[Math.floor(random() * calls.length)] as AuthorizedCall;
    try {
      return await worker(account, scope, (token) => send(token, operation));
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

describe.each([45, 70])('tokens that live %d s', (lifetimeS) => {
  const realMs = lifetimeS * second;

  it.each([
    ['the service does not say so', believedMs, second, 1],
    ['the service does not say so and calls are rare', believedMs, 10 * second, 1],
    ['the clocks of workers differ', realMs, second, 0.8],
  ] as const)(`tokens of ${lifetimeS} s cost one request each, though %s`, async (_, lifetimeMs, everyMs, share) => {
    const { fleet, work } = createWorkers({ realMs, rejects: servesAll });
    fleet.lifetimeMs = lifetimeMs;
    const { outcomes, longestGapMs } = await work(10 * minute, everyMs);
    expect(troubleIn(outcomes)).toEqual([]);
    expect(longestGapMs).toBeLessThan(everyMs + 3 * second);
    const early = 1; // the worker that is ahead, until it knows
    expect(fleet.requests.length).toBeLessThanOrEqual(Math.ceil(600 / (lifetimeS * share)) + early);
  });
});

it('workers whose clocks are an hour apart waste one token, wait for none and ask seldom', async () => {
  const { fleet, work } = createWorkers({ realMs: 899 * second, rejects: servesAll }, [0, 3_600_000, -3_600_000]);
  fleet.lifetimeMs = 899 * second;
  const { outcomes, longestGapMs } = await work(60 * minute, second);
  expect(troubleIn(outcomes)).toEqual([]);
  expect(longestGapMs).toBeLessThan(3 * second);
  expect(fleet.requests.length).toBeLessThanOrEqual(5 + 1);
  expect(fleet.asked.length).toBeLessThanOrEqual(6 * 4);
});

describe('a service that answers 401 whatever the token', () => {
  it('a service that rejects every call costs three requests, then two a minute, and serves all calls once it is repaired', async () => {
    let isBroken = true;
    const { fleet, work } = createWorkers({ realMs: 3_600 * second, rejects: () => isBroken });
    const { outcomes } = await work(10 * minute, second);
    expect(outcomes).not.toHaveProperty('readOrder: served');
    expect(outcomes['readOrder: credentialsRejected']).toBeGreaterThan(500);
    expect(fleet.requests.length).toBeLessThanOrEqual(3 + 20);
    isBroken = false;
    expect((await work(minute, second)).outcomes).toEqual({ 'readOrder: served': 60 });
  });

  it.each([
    ['', 45, 3],
    [' about which the service says nothing', believedMs / second, 31],
  ])(
    'an operation that is rejected costs two requests a minute and hardly delays other ones, with tokens of 45 s%s',
    async (_, believedS, gapS) => {
      const rejects = (operation: string) => operation === 'readReceipt';
      const { fleet, work } = createWorkers({ realMs: 45 * second, rejects });
      fleet.lifetimeMs = believedS * second;
      const { outcomes, longestGapMs } = await work(10 * minute, second, ['readOrder', 'readReceipt']);
      expect(outcomes).not.toHaveProperty('readReceipt: served');
      expect(longestGapMs).toBeLessThan(gapS * second);
      expect(fleet.requests.length).toBeLessThanOrEqual(600 / 36 + 3 + 20);
    },
  );

  it('a service that rejects calls by chance costs few requests', async () => {
    const { fleet, work } = createWorkers({ realMs: 3_600 * second, rejects: () => random() < 0.1 });
    const { outcomes, longestGapMs } = await work(10 * minute, second / 5);
    expect(outcomes['readOrder: served']).toBeGreaterThan(2_500);
    expect(longestGapMs).toBeLessThan(12 * second);
    expect(fleet.requests.length).toBeLessThanOrEqual(3 + 20);
  });
});
