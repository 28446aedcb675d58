import type { Client } from '@temporalio/client';
import { expect, it } from 'vitest';
import { createWorkerMetrics } from '../../src/observability/metrics.js';
import {
  createRunCounts,
  ensureSearchAttributes,
  type RunCounts,
  type SearchAttributeServices,
} from '../../src/temporal/visibility.js';

const keyword = 2;
const datetime = 6;
const all = {
  ...{ RideAccount: keyword, RideStatus: keyword, RideSeenBy: keyword, RideAttention: keyword },
  ...{ RideSince: datetime, RidePickup: datetime },
};
const create = [
  'temporal operator search-attribute create --namespace rides',
  ...['RideAccount', 'RideStatus', 'RideSeenBy', 'RideAttention'].map((name) => `--name ${name} --type Keyword`),
  ...['RideSince', 'RidePickup'].map((name) => `--name ${name} --type Datetime`),
].join(' ');

const grpcError = (code: number) => Object.assign(new Error(`code ${code}`), { code, details: '', metadata: {} });
const listing = (customAttributes: Record<string, number>) => async () => ({ customAttributes });
const denied = () => Promise.reject(grpcError(7));

interface FakeServer {
  list?: ReturnType<typeof listing>;
  add?: (attributes: Record<string, number>) => Promise<object>;
  count?: (query: string) => Promise<object>;
}

/** Stands in for the three calls that the check makes; test/processes/temporal-connection.test.ts asks a real server. */
const services = ({ list = denied, add = denied, count = denied }: FakeServer) =>
  ({
    operatorService: {
      listSearchAttributes: list,
      addSearchAttributes: (request: { searchAttributes: Record<string, number> }) => add(request.searchAttributes),
    },
    workflowService: { countWorkflowExecutions: (request: { query: string }) => count(request.query) },
    withDeadline: (_: number, request: () => Promise<unknown>) => request(),
  }) as unknown as SearchAttributeServices;

const check = (server: FakeServer) => ensureSearchAttributes(services(server), 'rides');

it('a worker registers the search attributes that are missing, and waits until the server lists them', async () => {
  let looks = 0;
  const registered: Record<string, number> = { RideStatus: keyword };
  const result = await check({
    list: async () => ({ customAttributes: ++looks > 2 ? { ...registered } : { RideStatus: keyword } }),
    add: async (attributes) => Object.assign(registered, attributes),
  });
  expect(result).toBe(true);
  expect(registered).toEqual(all);
  expect(looks).toBe(3);
});

it('a worker goes on when another worker has registered the search attributes meanwhile', async () => {
  let known = {};
  const add = () => {
    known = all;
    return Promise.reject(grpcError(6));
  };
  expect(await check({ list: async () => ({ customAttributes: known }), add })).toBe(true);
});

it.each<[string, FakeServer, boolean]>([
  ['checked by the list that holds them', { list: listing({ ...all, Other: 1 }) }, true],
  ['checked by a query where the server does not list them', { count: async () => ({}) }, true],
  ['not checked where the server allows neither', {}, false],
])('search attributes are %s', async (_, server, isChecked) => {
  expect(await check(server)).toBe(isChecked);
});

const rejects = (code: number) => () => Promise.reject(grpcError(code));
const mistyped = listing({ ...all, RideStatus: 1, RideSince: keyword });
const remove =
  /RideStatus of type Text instead of Keyword, RideSince of type Keyword.*remove --namespace rides --name RideStatus/;
it.each<[string, FakeServer, number | string, string | RegExp]>([
  ['an attribute of another type', { list: mistyped }, 'SearchAttributesMistyped', remove],
  ['attributes that the worker may not register', { list: listing({}) }, 'SearchAttributesMissing', create],
  ['attributes that a query does not know', { count: rejects(3) }, 'SearchAttributesMissing', create],
  ['a namespace that does not exist', { list: rejects(5) }, 'NamespaceUnknown', 'namespace create --namespace NAME'],
  ['an error that says nothing about them', { list: rejects(14) }, 14, 'code 14'],
])('the check fails with the remedy for %s', async (_, server, code, remedy) => {
  await expect(check(server)).rejects.toMatchObject({ code });
  await expect(check(server)).rejects.toThrow(remedy);
});

/** Visibility that answers `counts` by what a query ends with, and 0 otherwise. */
function stage(counts: Record<string, number>, fails = () => false) {
  const queries: string[] = [];
  const clock = { now: 0 };
  const count = async (query: string) => {
    queries.push(query);
    if (fails()) throw new Error('down');
    return { count: Object.entries(counts).find(([end]) => query.endsWith(end))?.[1] ?? 0 };
  };
  const client = { withDeadline: (_: number, call: () => unknown) => call(), workflow: { count } };
  const read = createRunCounts(client as unknown as Client, "q'1", () => clock.now);
  return { queries, clock, read };
}

it('the worker counts its running runs that need a person by their code', async () => {
  const { read, queries } = stage({ "'followOrder'": 7, 'IS NOT NULL': 3, "'forbidden'": 2, "'outcomeUnknown'": 1 });
  expect(await read()).toMatchObject({ followed: 7, attention: { forbidden: 2, outcomeUnknown: 1, scopeRejected: 0 } });
  for (const query of queries) expect(query).toMatch(/^TaskQueue = 'q\\'1' AND ExecutionStatus = 'Running' AND /);
});

it('the worker asks visibility twice for runs while no run needs a person, and again only after a minute', async () => {
  const { read, queries, clock } = stage({});
  await Promise.all([read(), read()]);
  clock.now = 59_999;
  await read();
  expect(queries).toHaveLength(2);
  clock.now = 60_000;
  await read();
  expect(queries).toHaveLength(4);
});

it('the worker asks visibility for no code of the plumbing while all attention is about rides', async () => {
  const { read, queries } = stage({ 'IS NOT NULL': 3, "'latePickup'": 1, "'customerCare'": 2 });
  expect(await read()).toMatchObject({ attention: { latePickup: 1, customerCare: 2, stuckInStatus: 0, forbidden: 0 } });
  expect(queries).toHaveLength(5);
});

it('the worker has no counts while visibility does not answer', async () => {
  let isDown = true;
  const { read, clock } = stage({}, () => isDown);
  expect(await read()).toBeNull();
  isDown = false;
  clock.now = 60_000;
  expect(await read()).toMatchObject({ followed: 0 });
});

it('metrics of runs have no value while visibility does not answer', async () => {
  const metrics = createWorkerMetrics();
  const attention = { forbidden: 2 } as RunCounts['attention'];
  let counts: RunCounts | null = { followed: 7, attention };
  metrics.showRuns(async () => counts);
  const page = await metrics.registry.metrics();
  expect(page).toContain('\nfaretrail_followed_orders 7\n');
  expect(page).toContain('\nfaretrail_attention_runs{code="forbidden"} 2\n');
  counts = null;
  expect(await metrics.registry.metrics()).not.toMatch(/^faretrail_(followed|attention)/m);
});
