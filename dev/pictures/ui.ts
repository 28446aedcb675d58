import type { Browser, Page } from 'playwright-core';
import { connectClient } from '../../src/temporal/connection.js';
import { findBrowser, openBrowser } from '../stack/ui/browser.js';
import { driveTemporalUi, type TemporalUi } from '../stack/ui/temporal-ui.js';
import { startEncryptedStack } from './encrypted-stack.js';
import { savePicture } from './save.js';

const size = { width: 1440, height: 1000 };
/** A page shows pictures at less than their width, and screens have more than one point for each pixel. */
const sharpness = 1.5;

type Clip = NonNullable<Parameters<Page['screenshot']>[0]>['clip'];
const besideMenu = { x: 205, width: 1235 };
/** From the head of the page, where the sign of the codec server is, to input and result. */
const inputAndResult = { ...besideMenu, y: 0, height: 600 };
/** From the id of the run to the end of its details. */
const details = { ...besideMenu, y: 105, height: 640 };

/** What the command line names. */
export interface Flags {
  ui: string;
  browser?: string;
}

/** Takes the pictures of single runs. */
export const shootUi = (flags: Flags): Promise<void> =>
  inBrowser(flags, async (browser) => {
    await shootOrder(browser, flags.ui);
    await shootCallStack(browser, flags.ui);
    await shootEncryption(browser);
  });

/** Closes the browser, whatever becomes of the pictures. */
export async function inBrowser(
  { browser: given }: Pick<Flags, 'browser'>,
  shootAll: (browser: Browser) => Promise<void>,
): Promise<void> {
  const executablePath = given ?? findBrowser();
  if (executablePath === undefined) throw new Error('no Chromium found: install one, or name it with --browser');
  const browser = await openBrowser(executablePath);
  try {
    await shootAll(browser);
  } finally {
    await browser.close();
  }
}

/** An order whose changes were delivered: its timeline in the details, and what its run did. */
async function shootOrder(browser: Browser, url: string): Promise<void> {
  const ui = await openUi(browser, url);
  await ui.openRun(await findOrder());
  savePicture('order-run.png', await ui.page.locator('#event-history-timeline-graph').screenshot());
  await ui.openTab('user-metadata');
  await shoot(ui.page, 'order.png', details);
  await ui.page.close();
}

/** Where an open run waits: a subscription, since that goes on. */
async function shootCallStack(browser: Browser, url: string): Promise<void> {
  const ui = await openUi(browser, url);
  await ui.openRun('subscription/business/status_changed');
  await ui.openTab('call-stack');
  await shoot(ui.page, 'call-stack.png', details);
  await ui.page.close();
}

/** The newest sample order with deliveries that has ended. */
async function findOrder(): Promise<string> {
  const { client, connection } = await connectClient(process.env);
  const query = `WorkflowType = 'followOrder' AND RideAccount = 'business' AND RideStatus = 'Completed'`;
  try {
    for await (const { workflowId } of client.workflow.list({ query, pageSize: 1 })) return workflowId;
    throw new Error('no order has ended yet: run `npm start` and wait for its sample orders');
  } finally {
    await connection.close();
  }
}

/** The same page without and with a codec endpoint. */
async function shootEncryption(browser: Browser): Promise<void> {
  const stack = await startEncryptedStack(console.log);
  try {
    const ui = await openUi(browser, stack.uiUrl);
    await ui.openRun(stack.rideWorkflowId);
    await shoot(ui.page, 'encrypted.png', inputAndResult);
    await ui.setCodec(stack.codecUrl);
    await ui.openRun(stack.rideWorkflowId);
    await shoot(ui.page, 'decrypted.png', inputAndResult);
    await ui.page.close();
  } finally {
    await stack.close();
  }
}

/** A page of the browser, as all pictures have it. */
export const openPage = (browser: Browser): Promise<Page> =>
  browser.newPage({ viewport: size, colorScheme: 'light', timezoneId: 'UTC', deviceScaleFactor: sharpness });

const openUi = async (browser: Browser, url: string): Promise<TemporalUi> =>
  driveTemporalUi(await openPage(browser), url);

async function shoot(page: Page, name: string, clip: Clip): Promise<void> {
  savePicture(name, await page.screenshot({ ...(clip && { clip }) }));
}
