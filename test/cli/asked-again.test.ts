import { QueryNotRegisteredError } from '@temporalio/client';
import { expect, it } from 'vitest';
import type { Session } from '../../src/cli/command.js';
import { type RunOutline, readTrail } from '../../src/cli/order/run.js';
import { readStanding } from '../../src/cli/ride/run.js';
import { readSubscriptionStatus } from '../../src/cli/subscription/run.js';
import { askedAhead } from '../../src/domain/asked-ahead.js';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';

const account = toAccountName('business');

/** A run whose worker turns the first question away, since it came ahead of a task. */
function turningAwayOnce(): Session {
  let asked = 0;
  const query = async () => {
    asked += 1;
    if (asked === 1) throw new QueryNotRegisteredError(askedAhead, 3);
    return 'answered';
  };
  const client = { workflow: { getHandle: () => ({ query }) } };
  return { client, within: (_ms: number, call: () => Promise<unknown>) => call() } as unknown as Session;
}

it.each<[string, (session: Session) => Promise<unknown>]>([
  [
    'an order',
    async (session) =>
      (await readTrail(session, { account, orderId: toOrderId('1') }, { isOpen: true } as RunOutline)).trail,
  ],
  ['a ride', (session) => readStanding(session, { account, requestId: 'r' })],
  ['a subscription', (session) => readSubscriptionStatus(session, { account, eventType: 'status_changed' })],
])('%s that turns a question away is asked again', async (_what, ask) => {
  expect(await ask(turningAwayOnce())).toBe('answered');
});
