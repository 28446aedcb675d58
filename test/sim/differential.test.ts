import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isLong } from '../support/long.js';
import { type Course, runCourse } from '../support/sim/courses.js';
import { type Connections, connect, startRealPlace, startSimulatedPlace } from '../support/sim/places.js';

const seeds = Array.from({ length: isLong ? 500 : 50 }, (_, at) => at + 1);

let connections: Connections;
beforeAll(async () => {
  connections = await connect();
});
afterAll(() => connections.close());

/** In some courses reads are never started, and are cancelled like that. */
const optionsOf = (seed: number) => ({ servesReads: seed % 5 !== 0 });

/** The last simulation that was queued. Only one at a time may use the thread. */
let last: Promise<unknown> = Promise.resolve();
function simulate(seed: number, workflowId: string, { instants }: Course): Promise<Course & { problems: string[] }> {
  const problems: string[] = [];
  const next = last.then(() =>
    runCourse(
      startSimulatedPlace(seed, optionsOf(seed), (problem) => problems.push(problem)),
      seed,
      workflowId,
      instants,
    ),
  );
  last = next.catch(() => undefined);
  return next.then((course) => ({ ...course, problems }));
}

it.concurrent.each(seeds)(
  'random course %i of an order makes the same events on a real server and in the simulation',
  async (seed) => {
    const place = await startRealPlace(connections, optionsOf(seed));
    const id = `order/acme/${randomUUID()}`;
    const real = await runCourse(place, seed, id).finally(() => place.close());
    const simulated = await simulate(seed, id, real);
    expect(simulated.problems).toEqual([]);
    expect(simulated.steps).toEqual(real.steps);
    expect(simulated.events).toEqual(real.events.map((line) => line.replaceAll(place.taskQueue, 'rides')));
  },
);
