import { expect, it } from 'vitest';
import { createAuthorizedCall, createQuietTimes } from '../../src/activities/authorized-call.js';
import { toScope } from '../../src/domain/keys.js';
import { apiError } from './api-errors.js';
import { account, start } from './attempts.js';
import { tokensInOrder } from './readers.js';

/** A call whose token takes so long, and what it sent. */
function callAfter(tokenWaitMs: number) {
  let nowMs = start;
  const now = () => nowMs;
  const tokens = tokensInOrder();
  const sent: string[] = [];
  const call = createAuthorizedCall({
    tokens: {
      ...tokens,
      async get(...args) {
        nowMs += tokenWaitMs;
        return await tokens.get(...args);
      },
    },
    quietTimes: createQuietTimes(now),
    now,
  });
  const send = async (token: string) => {
    sent.push(token);
    if (sent.length === 1) throw apiError('TOKEN_REJECTED');
    return 'answered';
  };
  return { sent, called: () => call(account, toScope('order'), 'readOrder', send) };
}

it('a call that has waited for its token gives its turn back, so that not all are sent at once when it comes', async () => {
  const { sent, called } = callAfter(251);
  await expect(called()).rejects.toMatchObject({ code: 'QuietTime', leftMs: 100 });
  expect(sent).toEqual([]);
});

it('a call whose token came in a moment is sent, and once more with another one after a 401', async () => {
  const { sent, called } = callAfter(250);
  expect(await called()).toBe('answered');
  expect(sent).toEqual(['clear token-1', 'clear token-2']);
});

it('a token that was asked for before the 401 is no fresh one: a third is tried, and no more; the fleet is told of a fresh one', async () => {
  const tried = async (askedAt: number[], rejections: number) => {
    const sent: string[] = [];
    const tokens = tokensInOrder(askedAt);
    const call = createAuthorizedCall({ tokens, quietTimes: createQuietTimes(() => start), now: () => start });
    const send = async (token: string) => {
      sent.push(token);
      if (sent.length <= rejections) throw apiError('TOKEN_REJECTED');
      return 'answered';
    };
    const outcome = await call(account, toScope('order'), 'readOrder', send).catch(
      ({ code }: { code: string }) => code,
    );
    return [outcome, sent.length, ...tokens.rejectedAfresh.map(({ tokenId }) => tokenId)];
  };
  const old = start - 1;
  expect(await tried([old, old], 2)).toEqual(['answered', 3]);
  expect(await tried([old, start], 2)).toEqual(['TOKEN_REJECTED', 2, 'token-2']);
  expect(await tried([old, old, old, old], 9)).toEqual(['TOKEN_REJECTED', 3]);
});
