import { setTimeout as sleep } from 'node:timers/promises';
import type { Page, Request } from 'playwright-core';

/** The Temporal UI in one page of a browser. Made for its version 2.50. */
export interface TemporalUi {
  page: Page;
  /** Opens the page of the newest run with this workflow id. */
  openRun(workflowId: string): Promise<void>;
  /** Opens the list of workflows under this filter. */
  openList(query: string): Promise<void>;
  /** Opens a tab of that page by its id, such as `history`. Resolves once the UI has drawn it. */
  openTab(id: string): Promise<void>;
  /** Has the UI decrypt by this codec endpoint. */
  setCodec(endpoint: string): Promise<void>;
}

const quietForMs = 1_000;
const settlesWithinMs = 20_000;

/** Uses the UI at `url` as a person does, through the elements of the page. */
export function driveTemporalUi(page: Page, url: string): TemporalUi {
  const openRequests = countRequests(page);
  const text = (): Promise<string> => page.locator('body').innerText();
  // Without digits, since the clock of a running workflow changes all the time.
  const settle = () => untilQuiet(async () => `${openRequests()} ${(await text()).replace(/\d/g, '')}`);

  return {
    page,
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
    async setCodec(endpoint) {
      await page.locator('[data-testid^=data-encoder-status]').first().click();
      const dialog = page.locator('#data-encoder-settings');
      await dialog.getByTestId('use-local-endpoint-input').check();
      await dialog.getByTestId('data-encoder-endpoint-input').fill(endpoint);
      await dialog.getByTestId('confirm-modal-button').click();
      await dialog.waitFor({ state: 'hidden' });
    },
  };
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
