import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Browser, Page } from 'playwright-core';
import { createFaretrailClient, type OrderHandle } from '../../src/client/index.js';
import { connectClient } from '../../src/temporal/connection.js';
import { driveTemporalUi } from '../stack/ui/temporal-ui.js';
import { savePicture } from './save.js';
import { type Flags, inBrowser, openPage } from './ui.js';

/** Columns of the list, as a person chooses them below it. */
const columns = ['Status', 'Workflow ID', 'RideStatus', 'RideAttention', 'Type'];
interface View {
  query: string;
  rows: number;
}

/** What each picture shows; the queries are those of `docs/how-to/use-the-temporal-ui.md`. */
const views: Record<string, View> = {
  'view-attention.png': { query: 'RideAttention IS NOT NULL AND ExecutionStatus = "Running"', rows: 2 },
  'view-account.png': {
    query: 'WorkflowType = "followOrder" AND RideAccount = "business" AND ExecutionStatus = "Running"',
    rows: 5,
  },
};
/** Right of the menu and of the saved views, from the filter to the last row. */
const list = { x: 205, y: 140, width: 1235 };
const headOfList = 112;
const row = 36;
const listedWithinMs = 60_000;

/** Takes the pictures of lists of runs, with orders that it makes for them. */
export async function shootViews(flags: Flags): Promise<void> {
  const sandbox = process.env.FARETRAIL_BUSINESS_BASE_URL;
  if (!sandbox) throw new Error('FARETRAIL_BUSINESS_BASE_URL: missing; first read .faretrail/local.env');
  const { client, connection } = await connectClient(process.env);
  try {
    const orders = await makeRuns(client, sandbox);
    await inBrowser(flags, async (browser) => {
      for (const [name, view] of Object.entries(views)) {
        await listed(client, view);
        const page = await openList(browser, flags.ui, view.query);
        const height = headOfList + view.rows * row;
        savePicture(name, await page.screenshot({ clip: { ...list, height } }));
        await page.close();
      }
    });
    await Promise.all(orders.map((order) => order.stop('the pictures are taken')));
  } finally {
    await connection.close();
  }
}

/** Orders in several states, of which one needs the dispatch desk, and one may not be read. */
async function makeRuns(client: Client, sandbox: string): Promise<OrderHandle[]> {
  const orders: OrderHandle[] = [];
  const rides = createFaretrailClient({ client });
  const post = (path: string, body: object) =>
    fetch(`${sandbox}/sandbox/${path}`, { method: 'POST', body: JSON.stringify(body) });
  const run = Date.now().toString(36);
  const statuses = ['Pending', 'Confirmed', 'Waiting', 'Driving', 'CareReq'];
  for (const status of statuses) {
    const orderId = `${status.toLowerCase()}-${run}`;
    await post('orders', { interface: 'business', orderId, script: [{ status, afterMs: 0 }] });
    orders.push(await rides.follow({ account: 'business', orderId }));
  }
  const orderId = `refused-${run}`;
  await post('orders', { interface: 'partner', orderId, script: [{ status: 'Pending', afterMs: 0 }] });
  await post('faults', { kind: 'forbidden', orderId });
  orders.push(await rides.follow({ account: 'partner', orderId }));
  return orders;
}

/** Resolves once the server lists as many runs as the picture shall show. */
async function listed(client: Client, { query, rows }: View): Promise<void> {
  const giveUpAt = Date.now() + listedWithinMs;
  while ((await client.workflow.count(query)).count !== rows) {
    if (Date.now() > giveUpAt) throw new Error(`not ${rows} runs: ${query}; stop other orders, and try again`);
    await sleep(500);
  }
}

/** The list without the saved views beside it, so that its columns have room. */
async function openList(browser: Browser, url: string, query: string): Promise<Page> {
  const page = await openPage(browser);
  const chosen = JSON.stringify({ default: columns.map((label) => ({ label })) });
  const content = `localStorage.setItem('namespace-workflow-table-columns', ${JSON.stringify(chosen)})`;
  await page.addInitScript({ content });
  await driveTemporalUi(page, url).openList(query);
  await page.getByText('Saved Views').locator('..').getByRole('button').click();
  return page;
}
