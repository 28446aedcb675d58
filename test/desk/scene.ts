import { afterAll, beforeAll } from 'vitest';
import { createLive } from '../../src/desk/live.js';
import { createReads } from '../../src/desk/reads.js';
import { openRuns } from '../../src/desk/runs.js';
import { startDesk } from '../../src/desk/server.js';
import type { Attention } from '../../src/domain/attention.js';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import type { StoredChange } from '../../src/domain/notify/notices.js';
import type { Logger } from '../../src/observability/logging.js';
import type { DeskSettings } from '../../src/settings/desk.js';
import { openStore, type Store } from '../../src/store/store.js';
import { usePostgres } from '../support/store/postgres.js';

export const deskSettings: DeskSettings = {
  ...{ host: '127.0.0.1', port: 0, url: null, login: null, keys: null, temporalUi: 'http://127.0.0.1:8233' },
};

/** Where no Temporal answers. */
const nowhere = '127.0.0.1:1';

/** Starts a desk over a store; by default without Temporal. */
export async function openDesk(
  store: Store,
  {
    address = nowhere,
    taskQueue = 'faretrail',
    ...more
  }: Partial<DeskSettings> & { address?: string; taskQueue?: string },
) {
  const reads = createReads(store);
  const runs = openRuns({ TEMPORAL_ADDRESS: address }, taskQueue);
  const live = createLive(reads, async () => JSON.stringify(await runs.inNeed()));
  const logged: object[] = [];
  const keep = (level: object) => (fields: object, message: string) =>
    void logged.push({ ...fields, message, ...level });
  const logger = {
    info: keep({}),
    warn: keep({ level: 'warn' }),
    error: keep({ level: 'error' }),
  } as unknown as Logger;
  const desk = await startDesk({
    settings: { ...deskSettings, ...more },
    reads,
    runs,
    live,
    logger,
    localUser: 'anna',
  });
  return {
    ...{ origin: desk.origin, routes: desk.routes, store, logged },
    async close() {
      await desk.close();
      await runs.close();
    },
  };
}

/** A desk for the tests of a file, over a store of its own and without Temporal. */
export function useDesk(options: () => Partial<DeskSettings> = () => ({})) {
  const postgres = usePostgres();
  const scene = {} as Awaited<ReturnType<typeof openDesk>>;
  beforeAll(async () => {
    const store = openStore(postgres.url, { connections: 4 });
    await store.rehearse();
    Object.assign(scene, await openDesk(store, options()));
  }, 120_000);
  afterAll(async () => {
    await scene.close();
    await scene.store.close();
  });
  return scene;
}

const secondOf = (second: number): string => new Date(Date.UTC(2031, 0, 1, 0, 0, second)).toISOString();

export const attention = (code: Attention['code'], message: string): Attention => ({
  ...{ code, message, since: secondOf(30) },
});

/** A change of an order of the account `business`. */
export function orderChange(orderId: string, notice: number, more: object = {}): StoredChange {
  const at = secondOf(notice);
  const state = { status: 'Driving', rawStatus: `Driving ${notice}`, since: at, terminal: false, outcome: null };
  const change = {
    account: toAccountName('business'),
    orderId: toOrderId(orderId),
    ...state,
    attention: null,
    ...more,
  };
  return { run: orderId, notice, at, type: 'order.changed', change } as StoredChange;
}

/** A change of a ride of the account `business`. */
export const rideChange = (requestId: string, more: object = {}): StoredChange =>
  ({
    ...{ run: requestId, notice: 1, at: secondOf(1), type: 'ride.changed' },
    change: {
      ...{ account: 'business', requestId, stage: 'requesting', orderId: null, outcome: null, attention: null },
      ...{ failure: null, ...more },
    },
  }) as StoredChange;

/** A browser without scripts: keeps cookies, follows no redirect. */
export function createBrowser(origin: string) {
  const jar = new Map<string, string>();
  async function send(path: string, init: RequestInit = {}): Promise<Response> {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { ...(cookie ? { cookie } : {}), ...(init.headers as Record<string, string>) };
    const answer = await fetch(path.startsWith('http') ? path : `${origin}${path}`, {
      ...init,
      headers,
      redirect: 'manual',
    });
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '') jar.delete(name);
      else jar.set(name, value);
    }
    return answer;
  }
  const get = async (path: string): Promise<string> => await (await send(path)).text();
  return {
    ...{ jar, send, get },
    /** Sends a form as the page at `from` has it. */
    async press(from: string, path: string, fields: Record<string, string> = {}, headers: Record<string, string> = {}) {
      const [, csrf = ''] = /name="csrf" value="([^"]+)"/.exec(await get(from)) ?? [];
      const body = new URLSearchParams({ csrf, ...fields });
      return await send(path, { method: 'POST', body, headers });
    },
  };
}
