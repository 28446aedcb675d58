import { gzipSync } from 'node:zlib';
import { afterEach, expect, it, vi } from 'vitest';
import { createLogger } from '../../src/observability/logging.js';
import { createIngressMetrics } from '../../src/observability/metrics.js';
import { createObserver } from '../../src/webhooks/observer.js';
import { account, aStand, byMac, secretId } from './ingress-stand.js';

afterEach(() => void vi.useRealTimers());

const kind = { account, eventType: 'status_changed' } as const;
const labels = `account="${account}",event_type="status_changed"`;

interface Line {
  level: string;
  msg: string;
  outcome?: string;
  count?: number;
  shape?: string[];
}

/** The observer of the ingress, with what it has logged and counts. */
function anObserver(now?: () => number) {
  const written: string[] = [];
  const logger = createLogger({ level: 'trace', process: 'ingress' }, { write: (line) => void written.push(line) });
  const metrics = createIngressMetrics();
  const lines = () => written.map((line) => JSON.parse(line) as Line);
  return {
    observer: createObserver({ logger, metrics, ...(now && { monotonic: now }) }),
    ...{ text: () => written.join(''), page: () => metrics.registry.metrics() },
    shapes: () => lines().filter(({ shape }) => shape !== undefined),
    refusals: () => lines().filter(({ level }) => level === 'warn'),
  };
}

async function aLoggingStand(options: Parameters<typeof aStand>[0] = {}) {
  const { observer, ...told } = anObserver();
  return { ...(await aStand({ ...options, observer })), ...told };
}

it('a new shape of a body is one line with names and types, and is counted', async () => {
  const stand = await aLoggingStand();
  const body = { order_id: 4711, status: 'Driving', stops: [{ at: 'Elm Street 5' }], driver: null };
  for (const status of ['Driving', 'Completed', 'Driving']) await stand.post(JSON.stringify({ ...body, status }));
  expect(stand.shapes()).toEqual([
    expect.objectContaining({
      ...{ level: 'info', msg: 'a delivery had a body of a new shape', ...kind, outcome: 'accepted' },
      shape: [
        ...['(body): object', '/driver: null', '/order_id: number', '/status: text'],
        ...['/stops: list', '/stops/*: object', '/stops/*/at: text'],
      ],
    }),
  ]);
  await stand.post(JSON.stringify({ ...body, driver: 'Ada' }));
  expect(stand.shapes().at(-1)?.shape).toContain('/driver: text');
  const message = JSON.stringify({ order_id: 1, more: '{"at":"Elm Street 5"}' });
  await stand.post(gzipSync(JSON.stringify({ message })), { headers: { 'content-encoding': 'gzip' } });
  expect(stand.shapes().at(-1)?.shape).toEqual([
    ...['(body): object', '/message: text', '/message/more: text', '/message/more/at: text'],
    '/message/order_id: number',
  ]);
  expect(await stand.page()).toContain(`faretrail_new_shapes_total{${labels},outcome="accepted"} 3`);
});

it('a refused delivery leaves its shape, and a line with the outcome', async () => {
  const stand = await aLoggingStand({ verification: byMac });
  await stand.post('{"order_id":1}');
  await stand.post('no JSON');
  await stand.post('{}', { headers: { 'content-encoding': 'zstd' } });
  await stand.post('{"order_id":1}', { address: `${stand.addressOf().slice(0, -1)}x` });
  expect(stand.shapes().map(({ outcome }) => outcome)).toEqual(['wrongSecret']);
  expect(stand.refusals().map(({ outcome }) => outcome)).toEqual(['wrongSecret', 'encoded', 'notFound']);
  expect(await stand.page()).toContain(`faretrail_deliveries_total{${labels},outcome="wrongSecret"} 2`);
});

it('no value, secret or part of an address reaches the log, whatever stands in names', async () => {
  const stand = await aLoggingStand();
  const mac = stand.addressOf().split('.').at(-1) ?? '';
  const values = ['Ada Lovelace', '+4915112345678', 'Elm Street 5', secretId, mac, 'tok_9f8e7d6c5b4a', '4711-0815'];
  const [name, phone, street, secret, path, token, orderId] = values;
  const nested = { passenger: { name, phone }, [String(phone)]: { street }, [secretId]: 1, [mac]: [path], token };
  const headers = { 'x-secret': String(secret), authorization: `Bearer ${token}`, [`x-${secretId}`]: '1' };
  await stand.post(JSON.stringify({ order_id: orderId, nested }), { headers });
  await stand.post(JSON.stringify({ wrong: nested, id: orderId }), { headers });
  await stand.post(`{"a":"${name}","a":"${phone}"}`, { headers });
  expect(stand.shapes()).toHaveLength(3);
  for (const value of [...values, stand.url.slice(7)]) expect(stand.text() + (await stand.page())).not.toContain(value);
});

it('refusals are logged at once and then once a minute for each outcome, with their number', () => {
  vi.useFakeTimers({ now: 0 });
  const { observer, refusals } = anObserver();
  const after = (ms: number, outcome: 'tooMany' | 'ended' | 'accepted' = 'tooMany') => {
    vi.advanceTimersByTime(ms);
    observer.delivery({ ...kind, outcome, seconds: 0 });
  };
  after(0, 'accepted');
  expect(refusals()).toEqual([]);
  after(0);
  for (let sent = 0; sent < 59; sent += 1) after(1_000);
  after(0, 'accepted');
  expect(refusals().map(({ count }) => count)).toEqual([1]);
  after(0, 'ended');
  after(1_000);
  expect(refusals().map(({ outcome, count }) => [outcome, count])).toEqual([
    ['tooMany', 1],
    ['ended', 1],
    ['tooMany', 60],
  ]);
});

/** An observer with a clock that stands still unless the test moves it. */
function aSearch() {
  const clock = { now: 0 };
  const told = anObserver(() => clock.now);
  const letters = (number: number) => [...String(number)].map((digit) => 'abcdefghij'[Number(digit)]).join('');
  const long = (number: number) => letters(number).padEnd(40, 'x');
  const fields = Object.fromEntries(Array.from({ length: 400 }, (_, at) => [long(1_000 + at), at]));
  return {
    ...told,
    clock,
    /** A large body, with a shape of its own for each turn. */
    wide: (turn: number) => Array.from({ length: 6 }).reduce<object>((inner) => ({ [long(turn)]: inner }), fields),
    see: (body: object, outcome: 'accepted' | 'ended' = 'accepted') =>
      told.observer.body(kind, outcome, Buffer.from(JSON.stringify(body))),
    counted: async (outcome: 'accepted' | 'ended') =>
      Number(new RegExp(`new_shapes_total{${labels},outcome="${outcome}"} (.*)`).exec(await told.page())?.[1] ?? 0),
  };
}

it('a sender who knows an address fills neither log nor memory, and hides no shape of other outcomes', async () => {
  const { clock, wide, see, shapes, counted } = aSearch();
  for (let turn = 0; turn < 50; turn += 1, clock.now += 1_000) see(wide(turn));
  expect(shapes()).toHaveLength(20);
  for (const { shape } of shapes()) expect(shape?.join('').length).toBeLessThan(50_000);
  expect(shapes()[0]?.shape?.at(-1)).toBe('(the body holds more)');
  see(wide(0));
  expect(await counted('accepted'), 'one was seen before').toBe(50);
  see({ order_id: '1' }, 'ended');
  expect(shapes().at(-1)).toMatchObject({ outcome: 'ended', shape: ['(body): object', '/order_id: text'] });
});

it('the ingress looks at ten bodies a second of an account, event type and outcome', async () => {
  const { clock, wide, see, counted } = aSearch();
  for (let turn = 0; turn < 100; turn += 1) see(wide(turn));
  see({}, 'ended');
  expect([await counted('accepted'), await counted('ended')]).toEqual([10, 1]);
  clock.now += 1_000;
  for (let turn = 100; turn < 200; turn += 1) see(wide(turn));
  expect(await counted('accepted')).toBe(20);
});

it('the ingress warns once a minute why deliveries are not forwarded, and logs the rest for those who debug', () => {
  vi.useFakeTimers();
  const { observer, text } = anObserver();
  const linesAfter = (ms: number) => {
    vi.advanceTimersByTime(ms);
    observer.notForwarded(new Error('the run takes no more'));
    return ['"level":"warn"', '"level":"debug"'].map((level) => text().split(level).length - 1);
  };
  expect([linesAfter(0), linesAfter(59_000), linesAfter(1_000)]).toEqual([
    [1, 0],
    [1, 1],
    [2, 1],
  ]);
  expect(text()).toContain('the run takes no more');
});
