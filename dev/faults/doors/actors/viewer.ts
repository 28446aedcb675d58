import fc from 'fast-check';
import { createBrowser, signIn } from '../provider.js';
import { openTally, type Tale, type Task, tryAll } from '../tally.js';

/** What a viewer of the desk knows: their login, with the role `view` alone, and orders that pages show. */
export interface KnowsDesk extends Task {
  desk: string;
  login: string;
  orderIds: readonly string[];
}

interface Press {
  method: string;
  path: string;
  fields: Record<string, string>;
  csrf: 'own' | 'forged' | 'none';
  headers: Record<string, string>;
}

const odd = fc.constantFrom(
  '\u0000',
  '%00',
  '+275760-09-13',
  "' or 1=1 --",
  '\ud800',
  '../..',
  '9'.repeat(400),
  '\u202ex',
  '',
);

function presses(orderIds: readonly string[]): fc.Arbitrary<Press> {
  const id = fc
    .oneof({ weight: 3, arbitrary: fc.constantFrom(...orderIds) }, odd, fc.string())
    .map(encodeURIComponentSafely);
  const account = fc.oneof({ weight: 5, arbitrary: fc.constant('business') }, odd.map(encodeURIComponentSafely));
  const kind = fc.constantFrom('orders', 'rides', 'parked');
  const page = fc.tuple(kind, account, id).map((parts) => `/${parts.join('/')}`);
  const button = fc.constantFrom('refresh', 'stop', 'follow', 'resolve', 'route', 'discard');
  const query = fc.dictionary(fc.constantFrom('account', 'status', 'state', 'before', 'x'), fc.oneof(odd, fc.string()));
  const read = fc.oneof(
    page,
    fc.constantFrom(
      '/',
      '/orders',
      '/notices',
      '/live',
      '/callback?code=x&state=y',
      '/logout',
      '/static/desk.css',
      '/healthz',
    ),
    query.map((asked) => `/orders?${new URLSearchParams(asked)}`),
  );
  const write = fc.oneof(
    fc.tuple(page, button).map(([at, name]) => `${at}/${name}`),
    fc.constantFrom('/notices/resend', '/search', '/logout'),
  );
  const fields = fc.dictionary(
    fc.constantFrom('reason', 'orderId', 'how', 'text', 'id', 'missedAt', 'next'),
    fc.oneof(odd, fc.string(), fc.constantFrom('made', 'tryAgain', 'giveUp', 'Passenger', 'Anna')),
  );
  const headers = fc.record(
    {
      origin: fc.constantFrom('https://elsewhere.example', 'null'),
      host: fc.constant('elsewhere.example'),
      'sec-fetch-site': fc.constantFrom('cross-site', 'same-origin'),
      'x-forwarded-host': fc.constant('elsewhere.example'),
    },
    { requiredKeys: [] },
  );
  const csrf = fc.constantFrom('own', 'own', 'forged', 'none');
  const press = { fields, csrf, headers };
  return fc.oneof(
    fc.record({ ...press, method: fc.constantFrom('GET', 'GET', 'HEAD', 'OPTIONS'), path: read }),
    fc.record({ ...press, method: fc.constantFrom('POST', 'POST', 'PUT', 'DELETE'), path: write }),
  );
}

function encodeURIComponentSafely(text: string): string {
  return text.isWellFormed() ? encodeURIComponent(text) : '%ED%A0%80';
}

/** Signs in once, and tries every page and button with whatever the browser of a viewer can send. */
export async function knockAtDesk({ desk, login, orderIds, ...task }: KnowsDesk): Promise<Tale> {
  const { tale, hear, make } = openTally();
  const send = createBrowser();
  await signIn(send, desk, login);
  const csrfOf = async (): Promise<string> =>
    /name="csrf" value="([^"]+)"/.exec(await (await send(`${desk}/`)).text())?.[1] ?? '';
  let csrf = await csrfOf();
  await tryAll(
    task,
    { grammar: presses(orderIds), lanes: 4, perSecond: 40 },
    ({ method, path, fields, headers, ...one }) =>
      make(async () => {
        const token = { own: csrf, forged: `${csrf.slice(0, -2)}xx`, none: '' }[one.csrf];
        const body = new URLSearchParams({ ...fields, ...(token && { csrf: token }) });
        const isWrite = method === 'POST' || method === 'PUT' || method === 'DELETE';
        const signal = AbortSignal.timeout(path === '/live' ? 500 : 10_000);
        const answer = await send(desk + path, { method, headers, signal, ...(isWrite && { body }) });
        if (path !== '/live') hear(await answer.text());
        if (path === '/logout' || answer.status === 401 || (answer.status === 303 && method === 'GET')) {
          await signIn(send, desk, login);
          csrf = await csrfOf();
        }
        return String(answer.status);
      }),
  );
  return tale;
}
