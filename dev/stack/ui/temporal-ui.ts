import { setTimeout as sleep } from 'node:timers/promises';
import type { Locator, Page, Request } from 'playwright-core';

/** The settings in the dialog "Codec Server". */
export interface CodecDialog {
  endpoint: string;
  /** "Pass the user access token". */
  passesToken?: boolean;
  /** "Include cross-origin credentials". */
  includesCredentials?: boolean;
}

/** The Temporal UI in one page of a browser. Made for its version 2.50. */
export interface TemporalUi {
  page: Page;
  /** Opens the page of the newest run with this workflow id. */
  openRun(workflowId: string): Promise<void>;
  /** Opens the list of workflows under this filter. */
  openList(query: string): Promise<void>;
  /** Opens a tab of that page by its id, such as `history`. Resolves once the UI has drawn it. */
  openTab(id: string): Promise<void>;
  /** The ids of all its tabs. */
  tabs(): Promise<string[]>;
  /** Sends the first query that the tab `queries` offers, if any. The UI must be able to read its name. */
  runQuery(): Promise<void>;
  setCodec(dialog: CodecDialog): Promise<void>;
  /** The text of the codec server's sign in the head of the page. */
  codecSign(): Promise<string>;
  /** The whole text of the page. */
  text(): Promise<string>;
}

const quietForMs = 1_000;
const settlesWithinMs = 20_000;

/** Uses the UI at `url` as a person does, through the elements of the page. */
export function driveTemporalUi(page: Page, url: string): TemporalUi {
  const sign = page.locator('[data-testid^=data-encoder-status]').first();
  const openRequests = countRequests(page);
  const text = (): Promise<string> => page.locator('body').innerText();
  // Without digits, since the clock of a running workflow changes all the time.
  const settle = () => untilQuiet(async () => `${openRequests()} ${(await text()).replace(/\d/g, '')}`);

  return {
    page,
    text,
    async openRun(workflowId) {
      await page.goto(`${url}/namespaces/default/workflows/${encodeURIComponent(workflowId)}`);
      await page.getByTestId('history-tab').waitFor();
      await settle();
    },
    async openList(query) {
      await page.goto(`${url}/namespaces/default/workflows?query=${encodeURIComponent(query)}`);
      await page.getByText('Workflow ID').first().waitFor();
      await settle();
    },
    async openTab(id) {
      await page.getByTestId(`${id}-tab`).click();
      await settle();
    },
    tabs: () =>
      page
        .locator('a[data-testid$=-tab]')
        .evaluateAll((tabs) => tabs.map((tab) => (tab.getAttribute('data-testid') ?? '').replace(/-tab$/, ''))),
    async runQuery() {
      const button = page.getByRole('button', { name: 'Run Query' });
      if (await button.isVisible()) await button.click();
      await settle();
    },
    async setCodec({ endpoint, passesToken = false, includesCredentials = false }) {
      await sign.click();
      const dialog = page.locator('#data-encoder-settings');
      await dialog.getByTestId('use-local-endpoint-input').check();
      await dialog.getByTestId('data-encoder-endpoint-input').fill(endpoint);
      await turn(dialog.locator('#pass-access-token'), passesToken);
      await turn(dialog.locator('#pass-access-credentials'), includesCredentials);
      await dialog.getByTestId('confirm-modal-button').click();
      await dialog.waitFor({ state: 'hidden' });
    },
    codecSign: async () => (await sign.getAttribute('aria-label')) ?? '',
  };
}

/** Turns the switch by key, since its picture covers it. */
async function turn(input: Locator, isOn: boolean): Promise<void> {
  if ((await input.isChecked()) !== isOn) await input.press('Space');
}

/** Counts the requests to codec endpoints in flight. */
function countRequests(page: Page): () => number {
  const open = new Set<Request>();
  page.on('request', (request) => request.url().includes('/decode') && open.add(request));
  page.on('response', (response) => open.delete(response.request()));
  page.on('requestfailed', (request) => open.delete(request));
  return () => open.size;
}

/** Resolves once `look` has seen the same for a second. The UI draws in steps, and it never stops its requests about a running workflow. */
async function untilQuiet(look: () => Promise<string>): Promise<void> {
  const giveUpAt = Date.now() + settlesWithinMs;
  let seen = '';
  let since = 0;
  while (Date.now() < giveUpAt) {
    const now = await look();
    if (now !== seen) since = Date.now();
    seen = now;
    if (Date.now() - since >= quietForMs && now.startsWith('0 ')) return;
    await sleep(100);
  }
}
