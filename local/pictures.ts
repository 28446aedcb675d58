import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { type Browser, chromium, type Page } from 'playwright-core';
import { connectClient } from '../src/temporal-connection.js';
import { projectRoot } from './temporal/project-root.js';

const folder = join(projectRoot, 'docs/pictures');
const usualPlaces = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const size = { width: 1440, height: 1000 };

interface Flags {
  ui: string;
  browser: string | undefined;
}

function readFlags(argv: string[]): Flags {
  return new Command('npm run pictures --')
    .description(
      'Takes the pictures of the documentation from the Temporal UI of a local stack: run `npm start` beside it.',
    )
    .option('--ui <url>', 'address of the Temporal UI', 'http://127.0.0.1:8233')
    .option('--browser <path>', 'a Chromium; by default that of the system')
    .parse(argv)
    .opts<Flags>();
}

/** Ids of the newest runs worth a picture. */
async function findRuns(): Promise<{ order: string; ride: string | undefined }> {
  const { client, connection } = await connectClient(process.env);
  const newest = async (query: string): Promise<string | undefined> => {
    for await (const { workflowId } of client.workflow.list({ query, pageSize: 1 })) return workflowId;
    return undefined;
  };
  try {
    const order = await newest(`WorkflowType = 'followOrder' AND RideStatus = 'Completed'`);
    if (order === undefined) throw new Error('no order has ended yet: run `npm start` and wait for its sample orders');
    return { order, ride: await newest(`WorkflowType = 'requestRide'`) };
  } finally {
    await connection.close();
  }
}

/** The UI draws what it knows in steps; quiet connections and a moment more mean that it is done. */
async function shoot(page: Page, url: string, name: string): Promise<void> {
  await page.goto(url, { waitUntil: 'networkidle' });
  await page.waitForTimeout(1_500);
  await page.screenshot({ path: join(folder, `${name}.png`) });
  console.log(`docs/pictures/${name}.png`);
}

async function main(): Promise<void> {
  const { ui, browser: given } = readFlags(process.argv);
  const executablePath = given ?? usualPlaces.find((path) => existsSync(path));
  if (executablePath === undefined) throw new Error('no Chromium found: install one, or name it with --browser');
  const { order, ride } = await findRuns();
  mkdirSync(folder, { recursive: true });
  const browser: Browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  try {
    const page = await browser.newPage({ viewport: size, colorScheme: 'light' });
    const runs = `${ui}/namespaces/default/workflows`;
    await shoot(page, runs, 'runs');
    await shoot(page, `${runs}/${encodeURIComponent(order)}`, 'order');
    if (ride !== undefined) await shoot(page, `${runs}/${encodeURIComponent(ride)}`, 'ride');
  } finally {
    await browser.close();
  }
}

await main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
