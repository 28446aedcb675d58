import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findBrowser, openBrowser } from '../../dev/stack/ui/browser.js';
import { attention, createBrowser, orderChange, useDesk } from './scene.js';

const desk = useDesk();
const chromium = findBrowser();
const arabic = 'رحلة أحمد';

beforeAll(async () => {
  const inHour = (second: number, at: string) => ({ ...orderChange('autumn', second, {}), at });
  const changes = [
    orderChange('composed', 1, { reference: 'José Álvarez'.normalize('NFC') }),
    orderChange('decomposed', 2, { reference: 'Zoë Müller'.normalize('NFD') }),
    orderChange('persian', 3, { reference: 'می\u200cخواهم' }),
    orderChange('arabic', 4, { reference: arabic, rawStatus: arabic, attention: attention('customerCare', arabic) }),
    // Clocks in Berlin go from 3:00 back to 2:00 between the two.
    inHour(5, '2026-10-25T00:30:00.000Z'),
    inHour(6, '2026-10-25T01:30:00.000Z'),
  ];
  for (const change of changes) await desk.store.record(change);
});

describe('what people have typed', () => {
  it.each([
    ['decomposed, as macOS gives it', 'José'.normalize('NFD'), 'composed'],
    ['composed, of a reference that is not', 'zoë m'.normalize('NFC'), 'decomposed'],
    ['with characters that nobody sees', '\u200bJosé\u200e \u202aÁl\u00ad\ufeff', 'composed'],
    ['with a joiner that belongs to the word', 'می\u200cخ', 'persian'],
    ['an order id with what a mail has put around it', '\u2066arabic\u2069', 'arabic'],
  ])('is found %s', async (_, text, id) => {
    const found = await createBrowser(desk.origin).press('/', '/search', { text });
    expect([found.status, found.headers.get('location')]).toEqual([303, `/orders/business/${id}`]);
  });

  it('has a direction of its own, so that numbers beside it stay in their places', async () => {
    const browser = createBrowser(desk.origin);
    for (const path of ['/', '/orders', '/orders/business/arabic']) {
      const page = await browser.get(path);
      const within = page.split(arabic).length - 1;
      expect(within).toBeGreaterThan(0);
      expect(page.split(`<bdi>${arabic}</bdi>`).length - 1).toBe(within);
    }
  });
});

describe.skipIf(!chromium)('in a browser', () => {
  let browser: Awaited<ReturnType<typeof openBrowser>>;
  beforeAll(async () => {
    browser = await openBrowser(chromium ?? '');
  });
  afterAll(() => browser.close());

  it.each(['en-GB', 'en-US', 'de-DE'])('both hours from 2 to 3 in October differ: %s', async (locale) => {
    const page = await browser.newPage({ timezoneId: 'Europe/Berlin', locale });
    await page.goto(`${desk.origin}/orders/business/autumn`, { waitUntil: 'load' });
    const times = await page.locator('td time').allTextContents();
    expect(times).toHaveLength(2);
    expect(times.every((time) => /\b0?2:30:00/.test(time))).toBe(true);
    expect(new Set(times).size).toBe(2);
    await page.close();
  });
});
