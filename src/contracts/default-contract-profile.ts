import type { z } from 'zod';
import { InvalidInput } from '../domain/errors.js';
import { type ContractProfile, ContractProfileSchema, type Operation } from './contract-profile.js';
import { isJsonObject, type JsonObject, ownValue } from './json.js';
import { wordProblems } from './status-words.js';

/** An operation of the business interface; every request names one company. Most are published. */
const ofCompany = (
  method: Operation['method'],
  path: string,
  { scope, success, source = 'published' }: Pick<Operation, 'scope' | 'success'> & Partial<Pick<Operation, 'source'>>,
): Operation => ({
  ...{ interface: 'business', method, path: `${path}?businessId={business_id}` },
  ...{ scope, success, source },
});

/** Pointers, the likeliest one first. */
const places = (text: string): string[] => text.split(' ');

/** The profile in force unless a file overrides parts of it. `source` says where method and path come from. */
export const defaultContractProfile: ContractProfile = {
  operations: {
    orderStatus: {
      ...{ interface: 'partner', method: 'GET', path: '/v1/private/orders/status/{order_id}' },
      ...{ scope: 'demand_partner', success: [200], source: 'given' },
    },
    companySettings: ofCompany('GET', '/v1/companies/settings', {
      ...{ scope: 'order', success: [200], source: 'assumed' },
    }),
    products: ofCompany('POST', '/v1/products', { scope: 'order', success: [200] }),
    priceEstimate: ofCompany('POST', '/v1/price-estimate', { scope: 'order', success: [200, 201] }),
    createOrder: {
      ...ofCompany('POST', '/v1/orders', { scope: 'order', success: [200, 201] }),
      ...{ requestIdHeader: 'X-Request-ID', repeatable: false },
    },
    orderDetails: ofCompany('GET', '/v1/orders/{order_id}', { scope: 'order', success: [200] }),
    updateOrder: ofCompany('PATCH', '/v1/orders/{order_id}', { scope: 'order', success: [200, 204] }),
    cancelOrder: ofCompany('POST', '/v1/orders/{order_id}/cancel', { scope: 'order', success: [200, 204] }),
    addReferenceCode: ofCompany('POST', '/v1/reference-fields/{reference_field_id}/codes', {
      ...{ scope: 'company.reference', success: [200, 201] },
    }),
    orderReceipt: ofCompany('GET', '/v1/orders/{order_id}/receipt', { scope: 'finance', success: [200] }),
    orderReport: {
      ...ofCompany('GET', '/v1/reports', { scope: 'finance', success: [200] }),
      path: '/v1/reports?businessId={business_id}&limit={limit}&offset={offset}&since={since}&to={to}',
    },
    createSubscriber: ofCompany('POST', '/v1/subscribers', { scope: '', success: [200, 201], source: 'given' }),
    listSubscribers: {
      ...ofCompany('GET', '/v1/subscribers', { scope: '', success: [200], source: 'assumed' }),
      enabled: false,
    },
    deleteSubscriber: {
      ...ofCompany('DELETE', '/v1/subscribers/{id}', { scope: '', success: [200, 204], source: 'assumed' }),
      enabled: false,
    },
  },
  pointers: {
    orderStatus: {
      status: places('/order/status /data/order/status /data/status /order_status /status'),
      orderId: [
        ...places('/order/order_id /order/id /data/order/order_id /data/order/id'),
        ...places('/data/order_id /data/id /order_id /id'),
      ],
    },
    orderDetails: {
      status: places('/order/status /data/order/status /data/status /status'),
      orderId: places('/order/id /data/order/id /data/id /order_id /id'),
    },
    createOrder: { orderId: places('/order/id /data/order/id /data/id /order_id /id') },
    priceEstimate: {
      quoteId: places('/quote_id /data/quote_id'),
      price: places('/price/value /data/price/value /price'),
      currency: places('/currency_code /data/currency_code'),
    },
    delivery: {
      orderId: [
        ...places('/message/order_id /order/order_id /order/id /data/order/order_id /data/order/id /data/order_id'),
        ...places('/value/order/order_id /value/order/id /value/order_id /order_id'),
      ],
      status: [
        ...places('/message/status /order/status /data/order/status /data/status'),
        ...places('/value/order/status /value/status /status'),
      ],
      eventType: places('/event_type /data/event_type /value/event_type'),
      businessId: places('/business_id /message/business_id /order/business_id /data/business_id /value/business_id'),
      eventId: places('/id /event_id'),
      eventTime: places('/timestamp /event_time'),
    },
  },
  delivery: { verification: { mode: 'signed' } },
  subscription: { body: {} },
  tokens: { businessEncoding: 'urlencoded', refreshEarlyMs: 60_000, fallbackLifetimeMs: 300_000 },
  statuses: {
    terminal: ['Completed', 'Cancelled', 'Rejected'],
    words: {},
    notOrderStatus: ['ok', 'success', 'error'],
  },
  limits: { requestsPerSecond: 16 },
};

/** The placeholders that the path of an operation may hold in braces. */
const pathPlaceholders = [
  ...(['order_id', 'business_id', 'reference_field_id', 'id'] as const),
  ...(['limit', 'offset', 'since', 'to'] as const), // of a report page
] as const;

/** One of the names in `pathPlaceholders`. */
export type PathPlaceholder = (typeof pathPlaceholders)[number];

// Settings of one mode mean nothing in another, so an override replaces all of them.
const replacedWhole = new Set(['delivery.verification']);
/** What the path of an operation must hold. */
const neededPlaceholders: Readonly<Record<string, PathPlaceholder>> = {
  orderStatus: 'order_id',
  orderDetails: 'order_id',
};
const sendablePath = /^\/[\x21\x22\x24-\x7e]*$/; // printable ASCII, no blank, no "#"

const joined = (at: string, key: string): string => (at === '' ? key : `${at}.${key}`);

/** Objects merge; arrays and scalars replace. With own keys and `fromEntries`, `__proto__` is an ordinary name. */
function merged(base: unknown, override: unknown, at = ''): unknown {
  if (!isJsonObject(base) || !isJsonObject(override) || replacedWhole.has(at)) return override;
  const keys = new Set([...Object.keys(base), ...Object.keys(override)]);
  const entries = [...keys].map((key): [string, unknown] => {
    const replacement = Object.hasOwn(override, key) ? override[key] : ownValue(base, key);
    return [key, merged(ownValue(base, key), replacement, joined(at, key))];
  });
  return Object.fromEntries(entries);
}

/** The differences of a profile to the default one: overrides with which `parseContractProfile` gives it again. */
export function overridesOf(profile: ContractProfile): JsonObject {
  const overrides = differences(defaultContractProfile, profile);
  return isJsonObject(overrides) ? overrides : {};
}

/** Undefined where both are equal. The same objects merge here as in `merged`. */
function differences(base: unknown, value: unknown, at = ''): unknown {
  if (JSON.stringify(base) === JSON.stringify(value)) return undefined;
  if (!isJsonObject(base) || !isJsonObject(value) || replacedWhole.has(at)) return value;
  const entries = Object.keys(value).map((key): [string, unknown] => {
    return [key, differences(ownValue(base, key), value[key], joined(at, key))];
  });
  return Object.fromEntries(entries.filter(([, difference]) => difference !== undefined));
}

const renamedFields: ReadonlyMap<string, string> = new Map([['statuses.endWords', 'statuses.words']]);

function unknownField(at: string): string {
  const name = renamedFields.get(at);
  return name === undefined ? `${at}: unknown field` : `${at}: is ${name} now; rename it`;
}

function shapeProblems(issues: z.core.$ZodIssue[]): string[] {
  return issues.flatMap((issue) => {
    const at = issue.path.map(String).join('.');
    if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownField(joined(at, key)));
    return [`${at || 'profile'}: ${issue.message}`];
  });
}

function pathProblem(operation: string, path: string): string | undefined {
  if (!sendablePath.test(path)) return 'must start with "/" and hold printable ASCII without blanks and "#"';
  const names = [...path.matchAll(/\{([^{}]*)\}/g)].map(([, name]) => name ?? '');
  const unknown = names.filter((name) => !pathPlaceholders.some((known) => known === name));
  if (unknown.length > 0)
    return `unknown placeholder {${unknown.join('}, {')}}; known are ${pathPlaceholders.join(', ')}`;
  if (/[{}]/.test(path.replace(/\{[^{}]*\}/g, ''))) return 'has a brace without its partner';
  const needed = neededPlaceholders[operation];
  return needed === undefined || names.includes(needed) ? undefined : `must hold {${needed}}`;
}

function repeatProblem(name: string, operation: unknown): string | undefined {
  if (ownValue(operation, 'repeatable') !== true) return undefined;
  if (name !== 'createOrder') return 'means something to createOrder alone; leave it out';
  return ownValue(operation, 'requestIdHeader') ? undefined : 'must not be true without a requestIdHeader';
}

function operationProblems(profile: unknown): string[] {
  const operations = ownValue(profile, 'operations');
  return Object.entries(isJsonObject(operations) ? operations : {}).flatMap(([name, operation]) => {
    const path = ownValue(operation, 'path');
    const wrongPath = typeof path === 'string' && path.startsWith('/') ? pathProblem(name, path) : undefined;
    const repeatable = repeatProblem(name, operation);
    const problems = { path: wrongPath, repeatable };
    return Object.entries(problems).flatMap(([field, problem]) =>
      problem === undefined ? [] : [`operations.${name}.${field}: ${problem}`],
    );
  });
}

/** The default contract profile with the overrides of a parsed file (`{}` for none).
 *  Throws `InvalidInput` that lists every bad field by its path. */
export function parseContractProfile(overrides: unknown): ContractProfile {
  if (!isJsonObject(overrides)) throw new InvalidInput('contract profile: must be a JSON object');
  const candidate = merged(defaultContractProfile, overrides);
  const parsed = ContractProfileSchema.safeParse(candidate);
  const words = parsed.success ? wordProblems(parsed.data.statuses) : [];
  const problems = [...shapeProblems(parsed.error?.issues ?? []), ...operationProblems(candidate), ...words];
  if (!parsed.success || problems.length > 0) throw new InvalidInput(`contract profile: ${problems.join('; ')}`);
  return parsed.data;
}
