import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findBrowser, openBrowser } from '../../../dev/stack/ui/browser.js';
import { doubtfulRide, stands } from '../../support/ride/rides.js';
import { useDeskStack } from './desk-stack.js';

const chromium = findBrowser();
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

describe.skipIf(!chromium)('in a browser', () => {
  const { stack, desk, receiver, isStored, order, parked, lostNotice } = useDeskStack();
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser(chromium ?? '');
  });
  afterAll(() => browser.close());

  /** A page of a person who has never been here, and the errors of the browser. */
  async function open(path: string, options: BrowserContextOptions = {}) {
    const context = await browser.newContext({ timezoneId: 'Asia/Tokyo', locale: 'en-GB', ...options });
    const page = await context.newPage();
    const errors: string[] = [];
    page.on('console', (message) => void (message.type() === 'error' && errors.push(message.text())));
    page.on('pageerror', (error) => void errors.push(error.message));
    await page.goto(`${desk.origin}${path}`);
    return { page, errors };
  }

  /** The first press shows what the button does, the second does it. */
  async function press(page: Page, name: string, fields: Record<string, string> = {}): Promise<void> {
    await page.getByText(name, { exact: true }).click();
    for (const [label, text] of Object.entries(fields)) await page.getByLabel(label, { exact: true }).fill(text);
    await page.getByRole('button', { name: `Yes, ${name.toLowerCase()}` }).click();
  }
  const says = (page: Page, note: string) => page.locator('#note', { hasText: note }).waitFor();

  async function find(page: Page, text: string): Promise<void> {
    await page.getByRole('searchbox').fill(text);
    await page.getByRole('button', { name: 'Find' }).click();
  }

  it('a dispatcher finds a ride by its reference, sees why it stands still, and has it read now', async () => {
    const { orderId, path } = await order('Trip of Anna Berg', 'CareReq');
    await isStored(orderId, { attention: 'customerCare' });
    const { page, errors } = await open('/');
    await find(page, 'trip of anna');
    expect(page.url()).toBe(`${desk.origin}${path}`);
    await page.getByText('Customer care of the service has the order. Ask them.').waitFor();
    await press(page, 'Read now');
    await says(page, 'It was read just now: CareReq.');
    await page.getByRole('region', { name: 'Who decided' }).getByText('refreshOrder').waitFor();
    expect(errors).toEqual([]);
  });

  it('a dispatcher resolves a doubtful create', async () => {
    const { handle, requestId, orderId, cancelled } = await doubtfulRide(stack);
    const { page } = await open('/');
    await page.getByRole('link', { name: `ride ${requestId}` }).click();
    await press(page, 'It was made', { 'Order id at the service': orderId });
    await says(page, 'The ride is resolved.');
    await stands(handle, { orderId });
    await page.getByRole('link', { name: orderId }).waitFor(); // the page is live
    await cancelled();
  });

  it('a dispatcher sends a lost notice again, and decides about a parked delivery', async () => {
    const came = await lostNotice();
    const waiting = await parked();
    const { page } = await open('/notices', { viewport: { width: 390, height: 844 } });
    const row = page.getByRole('row', { name: new URL(receiver.origin).host }); // other files lose notices, too
    const shown = async () => {
      await page.reload();
      return await row.getByText('HTTP 400').count();
    };
    await expect.poll(shown, { timeout: 180_000 }).toBe(1);
    await row.getByText('Send again', { exact: true }).click();
    expect(await page.evaluate('document.querySelector(".wide").scrollLeft')).toBe(0); // a phone shows the button
    await row.getByRole('button').click();
    await says(page, 'The notice is sent again.');
    await expect.poll(came).toEqual([400, 204]);
    await page.goto(`${desk.origin}${waiting}`);
    await press(page, 'Discard', { Why: 'a test' });
    await says(page, 'The delivery is discarded.');
  });

  it('an open page shows what changes, in the zone of the viewer, and leaves a person alone who is about to press', async () => {
    const { orderId, path } = await order('live');
    const { page } = await open(path);
    await page.locator('#live', { hasText: 'Live' }).waitFor();
    expect(await page.locator('time').first().textContent()).not.toContain('UTC');
    stack.sandbox.setStatus('business', orderId, 'Driving');
    await page.locator('dd .status', { hasText: 'Driving' }).waitFor();
    await page.getByText('Stop following', { exact: true }).click();
    await page.getByLabel('Why').fill('he has');
    stack.sandbox.setStatus('business', orderId, 'Completed');
    await page.getByText('There is something new').waitFor();
    expect(await page.getByLabel('Why').inputValue()).toBe('he has');
  });

  it('all works without scripts, and by the keyboard alone', async () => {
    const { path } = await order('keys');
    const { page } = await open(path, { javaScriptEnabled: false });
    expect(await page.locator('time').first().textContent()).toContain('UTC');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to content');
    for (let at = ''; at !== 'Read now'; at = await page.evaluate('document.activeElement.textContent'))
      await page.keyboard.press('Tab');
    for (const key of ['Enter', 'Tab', 'Enter']) await page.keyboard.press(key);
    await says(page, 'It was read just now: Routing.');
  });

  it('no page breaks a rule of accessibility, is wider than a phone, or weighs more than 100 kB', async () => {
    const { orderId, path } = await order('seen', 'CareReq');
    await isStored(orderId, { attention: 'customerCare' });
    const { requestId } = await doubtfulRide(stack);
    const waiting = await parked();
    const views: BrowserContextOptions[] = [
      { colorScheme: 'light', viewport: { width: 1280, height: 900 } },
      { colorScheme: 'dark', viewport: { width: 360, height: 740 } },
    ];
    for (const view of views) {
      const { page } = await open('/', view);
      let bytes = 0;
      page.on('response', async (response) => {
        if (!response.url().endsWith('/live')) bytes += (await response.body().catch(() => '')).length;
      });
      for (const one of [
        '/',
        '/orders',
        path,
        `/rides/business/${requestId}`,
        waiting,
        '/parked',
        '/notices',
        '/nowhere',
      ]) {
        bytes = 0;
        await page.goto(`${desk.origin}${one}`);
        for (const button of await page.locator('summary').all()) await button.click();
        await page.evaluate(axe);
        const violations = (await page.evaluate('axe.run().then((found) => found.violations)')) as {
          id: string;
          nodes: { html: string }[];
        }[];
        expect(violations.map(({ id, nodes }) => [one, id, nodes.map(({ html }) => html)])).toEqual([]);
        expect(await page.evaluate('document.documentElement.scrollWidth'), one).toBeLessThanOrEqual(
          view.viewport?.width ?? 0,
        );
        expect(bytes, one).toBeLessThanOrEqual(100_000);
      }
    }
  });
});
