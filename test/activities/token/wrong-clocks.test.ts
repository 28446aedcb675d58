import { expect, it } from 'vitest';
import { createAuthorizedCall, createQuietTimes } from '../../../src/activities/authorized-call.js';
import { apiError } from '../service.js';
import { minute, second } from '../temporal.js';
import { createClock } from './clock.js';
import { account, ofActivity, scope, TokenFleet } from './fleet.js';

const hour = 60 * minute;
const lifetimeMs = 15 * minute;

/** Calls that are served, of a service that knows how old its tokens are. */
function setUp() {
  const clock = createClock();
  const fleet = new TokenFleet(clock);
  fleet.lifetimeMs = lifetimeMs;
  /** The service may end tokens before their time. */
  let validFrom = 0;
  const caller = (isOfActivity: boolean) => {
    const tokens = fleet.newProcess(0, ...(isOfActivity ? [] : [ofActivity]));
    // The clock of the test stands still while a token is waited for, so no call goes back to Temporal.
    const call = createAuthorizedCall({ tokens, quietTimes: createQuietTimes(clock.now), monotonic: () => 0 });
    return async (): Promise<boolean> => {
      const send = async (token: string): Promise<boolean> => {
        const request = fleet.requests.find(({ obtained }) => `clear ${obtained?.id}` === token);
        const isValid = request && request.at >= validFrom && clock.now() < request.at + lifetimeMs;
        if (!isValid) throw apiError('TOKEN_REJECTED');
        return true;
      };
      return await clock.until(call(account, scope, send)).catch(() => false);
    };
  };
  /** How long it takes until each call is served, through more than the life of a token. */
  async function servedAfter(call: () => Promise<boolean>): Promise<number> {
    const mendedAt = clock.now();
    let failedAt = mendedAt;
    // Longer than a token lives, so that the next ones are judged, too.
    while (clock.now() < mendedAt + 20 * minute) {
      if (!(await call())) failedAt = clock.now();
      await clock.advance(2 * second);
    }
    return failedAt - mendedAt;
  }
  const endTokens = () => {
    validFrom = clock.now();
  };
  return { clock, fleet, caller, servedAfter, endTokens };
}

const mends = [
  ['an hour ahead', hour],
  ['an hour behind', -hour],
] as const;
const callers = [
  ['activities', true],
  ['polls', false],
] as const;
const rows = mends.flatMap(([how, aheadMs]) =>
  callers.flatMap(([whose, isOfActivity]) =>
    (['before', 'while', 'after'] as const).map((published) => ({ how, aheadMs, whose, isOfActivity, published })),
  ),
);

it.each(rows)(
  'with a server clock $how, then mended, and the token published $published: $whose are served',
  async ({ aheadMs, isOfActivity, published }) => {
    const { clock, fleet, caller, servedAfter } = setUp();
    const known = caller(isOfActivity);
    if (published === 'before') await known();
    fleet.serverAheadMs = aheadMs;
    await clock.advance(minute);
    if (published !== 'after') expect(await servedAfter(known), 'while it is wrong').toBeLessThanOrEqual(30 * second);
    fleet.serverAheadMs = 0;
    expect(await servedAfter(known), 'of the process that met it').toBeLessThanOrEqual(30 * second);
    expect(await servedAfter(caller(isOfActivity)), 'of a new process').toBeLessThanOrEqual(30 * second);
  },
);

it.each(mends)(
  'refusals and pauses that were noted with a server clock %s end when it is mended',
  async (_, aheadMs) => {
    const { clock, fleet, caller, servedAfter, endTokens } = setUp();
    const call = caller(true);
    fleet.serverAheadMs = aheadMs;
    // Rejected one after the other: the lease paces, in instants of the wrong clock.
    for (let n = 0; n < 4; n += 1) {
      await call();
      endTokens();
      await clock.advance(second);
    }
    fleet.trouble = { code: 'credentialsRejected', retryAfterMs: null };
    await call();
    fleet.trouble = null;
    fleet.serverAheadMs = 0;
    endTokens();
    // A cool-down of a minute was meant, and one that a clock ahead has noted does not count.
    expect(await servedAfter(call)).toBeLessThanOrEqual(aheadMs > 0 ? 30 * second : minute);
  },
);
