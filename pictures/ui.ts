import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import type { Browser, Page } from 'playwright-core';
import { projectRoot } from '../local/temporal/project-root.js';
import { findBrowser, openBrowser } from '../local/ui/browser.js';
import { driveTemporalUi, type TemporalUi } from '../local/ui/temporal-ui.js';
import { connectClient } from '../src/temporal/connection.js';
import { startEncryptedStack } from './encrypted-stack.js';

const folder = join(projectRoot, 'docs/pictures');
const size = { width: 1440, height: 1000 };
/** From the head of the page, where the sign of the codec server is, to input and result, beside the menu. */
const upperPart = { x: 205, y: 0, width: 1235, height: 600 };

interface Flags {
  ui: string;
  browser: string | undefined;
}

function readFlags(argv: string[]): Flags {
  return new Command('npm run pictures --')
    .description(
      'Takes the pictures of the documentation from the Temporal UI: of a local stack, so run `npm start` beside it,\n' +
        'and of a ride with payload encryption, for which it starts a stack of its own.',
    )
    .option('--ui <url>', 'address of the Temporal UI of the local stack', 'http://127.0.0.1:8233')
    .option('--browser <path>', 'a Chromium; by default that of the system')
    .parse(argv)
    .opts<Flags>();
}

/** The newest sample order that has ended. */
async function findOrder(): Promise<string> {
  const { client, connection } = await connectClient(process.env);
  const query = `WorkflowType = 'followOrder' AND RideStatus = 'Completed'`;
  try {
    for await (const { workflowId } of client.workflow.list({ query, pageSize: 1 })) return workflowId;
    throw new Error('no order has ended yet: run `npm start` and wait for its sample orders');
  } finally {
    await connection.close();
  }
}

async function shoot(page: Page, name: string, clip?: typeof upperPart): Promise<void> {
  await page.screenshot({ path: join(folder, `${name}.png`), ...(clip && { clip }) });
  console.log(`docs/pictures/${name}.png`);
}

async function openUi(browser: Browser, url: string): Promise<TemporalUi> {
  return driveTemporalUi(await browser.newPage({ viewport: size, colorScheme: 'light', timezoneId: 'UTC' }), url);
}

/** The same page without and with a codec endpoint. */
async function shootEncryption(browser: Browser): Promise<void> {
  const stack = await startEncryptedStack(console.log);
  try {
    const ui = await openUi(browser, stack.uiUrl);
    await ui.openRun(stack.rideWorkflowId);
    await shoot(ui.page, 'encrypted', upperPart);
    await ui.setCodec({ endpoint: stack.codecUrl });
    await ui.openRun(stack.rideWorkflowId);
    await shoot(ui.page, 'decrypted', upperPart);
    await ui.page.close();
  } finally {
    await stack.close();
  }
}

async function main(): Promise<void> {
  const { ui: url, browser: given } = readFlags(process.argv);
  const executablePath = given ?? findBrowser();
  if (executablePath === undefined) throw new Error('no Chromium found: install one, or name it with --browser');
  mkdirSync(folder, { recursive: true });
  const browser = await openBrowser(executablePath);
  try {
    await shootEncryption(browser);
    const ui = await openUi(browser, url);
    await ui.openRun(await findOrder());
    await shoot(ui.page, 'order');
  } finally {
    await browser.close();
  }
}

await main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
