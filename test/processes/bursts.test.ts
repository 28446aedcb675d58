import { randomUUID } from 'node:crypto';
import { WorkflowFailedError } from '@temporalio/client';
import { expect, it } from 'vitest';
import { closedLoop } from '../../bench/closed-loop.js';
import { toAccountName } from '../../src/domain/keys.js';
import { rideStart } from '../../src/temporal/starts.js';
import { newRide } from '../sandbox/booking-calls.js';
import { repeatsCreates } from '../support/ride/rides.js';
import { useFleet } from '../support/worker/fleet.js';

/** As JSON 60 kB, in the heap 200 kB, and a fifth of that again in the run. */
const order = newRide({ notes: Array.from({ length: 5_700 }, (_, n) => ({ n })) });
/** A heap of 96 MiB with an empty cache has room for 250 of these rides. */
const rides = 340;
const account = toAccountName('business');
const asksForAPause = { kind: 'tooManyRequests', operation: 'createOrder', retryAfterSeconds: 10 } as const;

const fleet = useFleet(1, {
  env: { ...repeatsCreates, NODE_OPTIONS: '--max-old-space-size=96' },
  requestsPerSecond: 1_000,
});

it('a burst of rides with large bodies does not end a worker with a small heap: its workflow cache gives way', async () => {
  const pause = fleet.sandbox.setFault(asksForAPause); // so that all rides are under way at the same time
  const handles = await closedLoop({ count: rides, inFlight: 16, limitMs: 120_000 }, () => {
    const input = { account, requestId: randomUUID(), order };
    return fleet.client.workflow.start('requestRide', rideStart(input, fleet.place.config.taskQueue));
  });
  const log = () => fleet.workers[0]?.output() ?? '';
  await expect.poll(log, { timeout: 120_000, interval: 500 }).toContain('the workflow cache holds fewer runs now');

  fleet.sandbox.setFault({ kind: 'reply', operation: 'createOrder', status: 422, body: { code: 'NO_CAR' } });
  fleet.sandbox.clearFault(pause);
  const ends = await Promise.all(handles.map((handle) => handle.result().catch((error: unknown) => error)));
  for (const end of ends) {
    expect(end).toBeInstanceOf(WorkflowFailedError);
    expect(end).toMatchObject({ cause: { type: 'Refused' } });
  }
  expect(await fleet.workers[0]?.stop()).toBe(0);
  for (const handle of handles.slice(0, 50)) {
    const { events } = await handle.fetchHistory();
    expect(events?.filter((event) => event.workflowTaskFailedEventAttributes)).toEqual([]);
  }
}, 300_000);
