import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type AccessToken, TokenUnavailable } from '../../../src/activities/token.js';
import { isUsable, type SealedToken } from '../../../src/domain/token-lease.js';
import { start } from '../temporal.js';
import { createClock } from './clock.js';
import { account, scope, TokenFleet } from './fleet.js';

const processes = 3;
/** The clocks of the processes differ; one that was not corrected yet serves a token so much longer, or renews it so much earlier. */
const aheadMs = [0, 3_000, -3_000];
const mostOffMs = 3_000;

type Step =
  | { do: 'pass'; ms: number }
  /** Calls of several processes at once. */
  | { do: 'call'; from: number[] }
  /** The service answers 401 to what these processes hold; each asks for another token. */
  | { do: 'reject'; from: number[] }
  | { do: 'fail'; code: 'credentialsRejected' | 'upstreamUnavailable' | null }
  | { do: 'terminate' }
  | { do: 'work'; isWorked: boolean };

const callers = fc.array(fc.nat(processes - 1), { minLength: 1, maxLength: 6 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.nat(40_000) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.nat(900_000) }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('call' as const), from: callers }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('reject' as const), from: callers }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('fail' as const),
      code: fc.constantFrom(null, 'credentialsRejected' as const, 'upstreamUnavailable' as const),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'terminate' } as const) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('work' as const), isWorked: fc.boolean() }) },
);

class World {
  readonly clock = createClock();
  readonly fleet = new TokenFleet(this.clock);
  readonly sources = aheadMs.map((ahead) => this.fleet.newProcess(ahead));
  readonly held: (AccessToken | undefined)[] = [];
  readonly rejected = new Set<string>();
  readonly underWay: Promise<void>[] = [];

  find(id: string): SealedToken {
    const token = this.fleet.requests.map(({ obtained }) => obtained).find((obtained) => obtained?.id === id);
    if (!token) throw new Error(`no request obtained ${id}`);
    return token;
  }

  async call(index: number, rejected?: string): Promise<void> {
    const source = this.sources[index] ?? this.fleet.newProcess();
    try {
      const token = await source.get(account, scope, rejected);
      expect(token.id).not.toBe(rejected);
      expect(token.value).toBe(`clear ${token.id}`);
      expect(isUsable(this.find(token.id), this.clock.now() - mostOffMs)).toBe(true);
      this.held[index] = token;
    } catch (error) {
      expect(error).toBeInstanceOf(TokenUnavailable);
      expect((error as TokenUnavailable).afterMs).toBeGreaterThanOrEqual(0);
    }
  }

  async take(step: Step): Promise<void> {
    if (step.do === 'pass') await this.clock.advance(step.ms);
    else if (step.do === 'fail')
      this.fleet.trouble = step.code === null ? null : { code: step.code, retryAfterMs: null };
    else if (step.do === 'terminate') this.fleet.terminate();
    else if (step.do === 'work') this.fleet.isWorked = step.isWorked;
    else for (const index of step.from) this.start(index, step.do === 'reject' ? this.held[index]?.id : undefined);
  }

  start(index: number, rejected: string | undefined): void {
    if (rejected !== undefined) this.rejected.add(rejected);
    this.underWay.push(this.call(index, rejected));
  }

  /** Every request that reached the service had a reason: none before, due, rejected, or a run that knew nothing. */
  expectReasons(): void {
    for (const { at, before } of this.fleet.requests) {
      if (before === null || this.rejected.has(before.id)) continue;
      expect(at).toBeGreaterThanOrEqual(Date.parse(before.renewAt) - mostOffMs);
    }
  }
}

it('a process serves no expired or rejected token, and asks for none without a reason', async () => {
  const stories = fc.array(step, { minLength: 1, maxLength: 25 });
  const settings = fc.record({
    lifetimeMs: fc.constantFrom(1_000, 30_000, 300_000, 899_000),
    answerMs: fc.constantFrom(0, 150, 3_000),
  });
  await fc.assert(
    fc.asyncProperty(stories, settings, async (story, setting) => {
      const world = new World();
      Object.assign(world.fleet, setting);
      for (const each of story) await world.take(each);
      await world.clock.until(Promise.all(world.underWay));
      world.expectReasons();
    }),
    { numRuns: 150 },
  );
}, 120_000);

it('a lifetime costs one request, unless its token was rejected or its run ended', async () => {
  const stories = fc.array(
    step.filter((each) => each.do !== 'terminate' && each.do !== 'fail'),
    { minLength: 1, maxLength: 25 },
  );
  await fc.assert(
    fc.asyncProperty(stories, async (story) => {
      const world = new World();
      world.fleet.lifetimeMs = 300_000;
      for (const each of story) await world.take(each);
      world.fleet.isWorked = true;
      await world.clock.until(Promise.all(world.underWay));
      const passedMs = world.clock.now() - start;
      expect(world.fleet.requests.filter(({ isFirstOfRun }) => isFirstOfRun).length).toBeLessThanOrEqual(1);
      expect(world.fleet.requests.length).toBeLessThanOrEqual(
        1 + world.rejected.size + Math.ceil(passedMs / (240_000 - mostOffMs)),
      );
    }),
    { numRuns: 100 },
  );
}, 120_000);
