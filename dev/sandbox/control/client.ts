import type { LedgerCounts, LedgerEntry } from '../ledger.js';
import type { ReferenceCode } from '../ride/reference-codes.js';
import type { CreatedOrder } from '../ride/rides.js';
import type { Subscriber } from '../subscription/subscribers.js';
import type { SandboxCommands } from './commands.js';

type Remote<F> = F extends (...args: infer Args) => infer Result ? (...args: Args) => Promise<Awaited<Result>> : never;

/** The commands of a sandbox in another process: the same names, with promises. */
export type SandboxControl = { [Name in keyof SandboxCommands]: Remote<SandboxCommands[Name]> } & {
  isHealthy(): Promise<boolean>;
};

/** Sends commands to the sandbox at `url`. A refused command throws with the sandbox's reasons. */
export function controlSandbox(url: string): SandboxControl {
  const send = sender(url);
  const orderPath = (at: string, orderId: string) => `orders/${at}/${encodeURIComponent(orderId)}`;
  return {
    addOrder: (order) => send('POST', 'orders', order),
    addOrders: (orders) => send('POST', 'orders/batch', { orders }),
    setStatus: (at, orderId, status) => send('PUT', `${orderPath(at, orderId)}/status`, { status }),
    advance: async (at, orderId) =>
      (await send<{ status: string }>('POST', `${orderPath(at, orderId)}/advance`)).status,
    orderCourse: (at, orderId) => send('GET', `${orderPath(at, orderId)}/course`),
    setFault: async (fault) => (await send<{ id: number }>('POST', 'faults', fault)).id,
    clearFault: async (id) => (await send<{ cleared: boolean }>('DELETE', `faults/${id}`)).cleared,
    clearFaults: () => send('DELETE', 'faults'),
    revokeTokens: async (clientId) => (await send<{ revoked: number }>('POST', 'revoke', { clientId })).revoked,
    setCredentials: (at, credentials) => send('POST', 'credentials', { interface: at, ...credentials }),
    setTokenLifetime: (at, seconds) => send('POST', 'lifetime', { interface: at, seconds }),
    setDown: (down) => send('POST', 'down', { down }),
    ledger: (filter = {}) => send<LedgerEntry[]>('GET', `ledger?${new URLSearchParams(definedIn(filter))}`),
    counts: () => send<LedgerCounts>('GET', 'counts'),
    resetLedger: () => send('DELETE', 'ledger'),
    issuedTokens: () => send<string[]>('GET', 'tokens'),
    subscribers: () => send<Subscriber[]>('GET', 'subscribers'),
    addSubscriber: (subscriber) => send<Subscriber>('POST', 'subscribers', subscriber),
    removeSubscriber: async (id) => (await send<{ removed: boolean }>('DELETE', `subscribers/${id}`)).removed,
    deliverySettings: () => send('GET', 'deliveries/settings'),
    setDeliverySettings: (change) => send('PUT', 'deliveries/settings', change),
    deliver: (request) => send('POST', 'deliveries', request),
    deliveries: (filter = {}) => send('GET', `deliveries?${new URLSearchParams(definedIn(filter))}`),
    deliveryCounts: () => send('GET', 'deliveries/counts'),
    resetDeliveries: () => send('DELETE', 'deliveries'),
    createdOrders: () => send<CreatedOrder[]>('GET', 'bookings'),
    referenceCodes: () => send<ReferenceCode[]>('GET', 'bookings/reference-codes'),
    bookingSettings: () => send('GET', 'bookings/settings'),
    setBookingSettings: (change) => send('PUT', 'bookings/settings', change),
    isHealthy: () =>
      send('GET', 'health').then(
        () => true,
        () => false,
      ),
  };
}

const definedIn = (filter: object): Record<string, string> =>
  Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));

function sender(url: string) {
  return async <Result>(method: string, path: string, body?: unknown): Promise<Result> => {
    const response = await fetch(`${url}/sandbox/${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`sandbox refused ${method} ${path}: ${text}`);
    return JSON.parse(text) as Result;
  };
}
