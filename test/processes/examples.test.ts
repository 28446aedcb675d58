import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { RideApiError } from '../../src/ride-api/errors.js';
import { reading, startTimeSkippingStack, type TimeSkippingStack } from '../support/order/time-skipping.js';
import { type Fleet, startFleet } from '../support/worker/fleet.js';
import { goExample, pythonExample } from './example-programs.js';

const programs = [
  { language: 'Python', program: await pythonExample() },
  { language: 'Go', program: await goExample() },
];

let fleet: Fleet;
let stack: TimeSkippingStack;
beforeAll(async () => {
  [fleet, stack] = await Promise.all([startFleet(1), startTimeSkippingStack()]);
}, 120_000);
afterAll(() => Promise.all([fleet?.close(), stack?.close()]), 60_000);

/** Ends the run after some minutes, which the server of the stack skips, since another order can be read. */
function orderNotFound(): never {
  throw new RideApiError('ORDER_UNKNOWN', 404, { upstreamCode: 'not_found', requestId: null }, { retry: false });
}

/** Has another caller joined the run? */
async function isAsked(order: { fetchHistory(): Promise<{ events?: object[] | null }> }): Promise<boolean> {
  const { events } = await order.fetchHistory();
  return (events ?? []).some((event) => 'workflowExecutionSignaledEventAttributes' in event);
}

for (const { language, program } of programs) {
  describe.skipIf('missing' in program)(`a service in ${language}, with the SDK of Temporal alone`, () => {
    const run = (account: string, orderId: string, env: Record<string, string>) => {
      if ('missing' in program) throw new Error(program.missing);
      return program.run([account, orderId], env);
    };

    it('has an order followed, reads its trail and awaits its end; asked again, it gets the same trail', async () => {
      const orderId = randomUUID();
      const script = ['Routing', 'Driving', 'Completed'].map((status, i) => ({ status, afterMs: i * 1_500 }));
      fleet.sandbox.addOrder({ interface: 'business', orderId, script });
      const { FARETRAIL_TASK_QUEUE = '' } = fleet.env;
      const env = { TEMPORAL_ADDRESS: inject('temporalAddress'), FARETRAIL_TASK_QUEUE };
      const first = await run('business', orderId, env);
      expect(first).toMatchObject({ code: 0, output: expect.stringMatching(new RegExp(`^${orderId} is `)) });
      expect(first.output).toMatch(/ ended: completed, after (Routing > )?(Driving > )?Completed\n$/);
      const again = await run('business', orderId, env);
      expect(again).toMatchObject({ code: 0, output: expect.stringContaining(`${orderId} is Completed\n`) });
      expect(again.output.split('\n')[1]).toBe(first.output.split('\n')[1]);
    });

    it('is told when the service does not know the order', async () => {
      await stack.start((elapsedMs) => reading(elapsedMs < 1_800_000 ? 'Driving' : 'Completed'));
      const order = await stack.start(orderNotFound);
      const [, account = '', orderId = ''] = order.workflowId.split('/');
      const env = { TEMPORAL_ADDRESS: stack.env.address, FARETRAIL_TASK_QUEUE: stack.taskQueue };
      const seen = run(account, orderId, env);
      await expect.poll(() => isAsked(order)).toBe(true);
      await expect(order.result()).rejects.toThrow(); // from now on time is skipped
      expect(await seen).toMatchObject({ code: 3, errors: expect.stringContaining('OrderNotFound: ') });
    });
  });
}
