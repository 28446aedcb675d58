import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Twenty seconds and more each, most of it waiting; the longest first. Before them the one that lists what needs a person: a list waits
 * eight seconds for each that other tests have left without a worker.
 */
const longest = [
  'e2e/commands',
  'processes/fleet',
  'e2e/ride/request',
  'e2e/order/messages',
  'replay/replay',
  'processes/watches',
  'e2e/subscription/resets',
  'e2e/operator/rides',
  'processes/watch-outage',
  'e2e/operator/orders',
  'processes/leaked-address',
  'processes/secrets',
  'e2e/notify/urls',
  'processes/cli',
  'processes/broken-creates',
  'workflows/attention',
  'processes/budget',
  'workflows/production-cadence',
  'workflows/long-haul',
  'e2e/retry-after',
  'e2e/ride/faults',
  'processes/encrypted-payloads',
  'e2e/worker/queried-orders',
  'e2e/call/reads',
];

const rank = ({ moduleId }: TestSpecification): number => {
  const index = longest.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
  return index < 0 ? longest.length : index;
};

/**
 * On a fresh clone vitest begins with the largest files, and the longest tests are short texts: they would be left for
 * the end, where one of them runs beside nothing.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}
