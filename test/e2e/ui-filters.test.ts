import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { projectRoot } from '../../dev/stack/temporal/project-root.js';
import * as workflows from '../../src/workflows/index.js';
import { shows, startFollowing, useOrderStack } from '../support/order/stack.js';

const stack = useOrderStack();
const page = readFileSync(join(projectRoot, 'docs/how-to/use-the-temporal-ui.md'), 'utf8');
const filters = [...page.matchAll(/^\| (.+?) \| `(.+)` \|$/gm)].map(([, what = '', filter = '']) => ({ what, filter }));
const count = async (filter: string) =>
  (await stack.client.workflow.count(`${filter} AND TaskQueue = '${stack.config.taskQueue}'`)).count;

it.each(filters)('Temporal takes the filter of the page for $what', async ({ filter }) => {
  expect(await count(filter)).toBeGreaterThanOrEqual(0);
  const named = [...filter.matchAll(/WorkflowType (?:=|IN) (.*?) AND/g)].flatMap(([, types = '']) =>
    types.match(/\w+/g),
  );
  for (const type of named) expect(Object.keys(workflows)).toContain(type);
});

it('they find an order that needs the dispatch desk', async () => {
  const orderId = stack.newOrder('business', [['CareReq', 0]]);
  const run = await startFollowing(stack, { account: 'business', orderId });
  await shows(run, { attention: expect.objectContaining({ code: 'customerCare' }) });
  const finding = () =>
    Promise.all(filters.slice(0, 5).map(async ({ filter, what }) => ((await count(filter)) === 1 ? what : '')));
  await expect
    .poll(async () => (await finding()).filter(Boolean))
    .toEqual([
      'what needs a person',
      'of that, what is for the dispatch desk',
      'orders of an account that are followed',
    ]);
});
