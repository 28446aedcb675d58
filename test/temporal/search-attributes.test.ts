import { expect, it } from 'vitest';
import { ensureSearchAttributes, type SearchAttributeServices } from '../../src/temporal/visibility.js';

const names = ['RideAccount', 'RideStatus', 'RideSeenBy', 'RideAttention'];
const allKeywords = Object.fromEntries(names.map((name) => [name, 2]));
const create = `temporal operator search-attribute create --namespace rides ${names.map((name) => `--name ${name}`).join(' ')} --type Keyword`;

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
  const registered: Record<string, number> = { RideStatus: 2 };
  const result = await check({
    list: async () => ({ customAttributes: ++looks > 2 ? { ...registered } : { RideStatus: 2 } }),
    add: async (attributes) => Object.assign(registered, attributes),
  });
  expect(result).toEqual({ registered: ['RideAccount', 'RideSeenBy', 'RideAttention'], checkedBy: 'list' });
  expect(registered).toEqual(allKeywords);
  expect(looks).toBe(3);
});

it('a worker goes on when another worker has registered the search attributes meanwhile', async () => {
  let known = {};
  const add = () => {
    known = allKeywords;
    return Promise.reject(grpcError(6));
  };
  expect(await check({ list: async () => ({ customAttributes: known }), add })).toMatchObject({ checkedBy: 'list' });
});

it.each<[string, FakeServer, string]>([
  ['by the list that holds them', { list: listing({ ...allKeywords, Other: 1 }) }, 'list'],
  ['by a query where the server does not list them', { count: async () => ({}) }, 'query'],
  ['by nothing where the server allows neither', {}, 'nothing'],
])('search attributes are checked %s', async (_, server, checkedBy) => {
  expect(await check(server)).toEqual({ registered: [], checkedBy });
});

const rejects = (code: number) => () => Promise.reject(grpcError(code));
const mistyped = listing({ ...allKeywords, RideStatus: 1 });
const remove = /RideStatus \(Text\).*remove --namespace rides --name RideStatus/;
it.each<[string, FakeServer, number | string, string | RegExp]>([
  ['an attribute of another type', { list: mistyped }, 'SearchAttributesMistyped', remove],
  ['attributes that the worker may not register', { list: listing({}) }, 'SearchAttributesMissing', create],
  ['attributes that a query does not know', { count: rejects(3) }, 'SearchAttributesMissing', create],
  ['a namespace that does not exist', { list: rejects(5) }, 'NamespaceUnknown', 'namespace create --namespace rides'],
  ['an error that says nothing about them', { list: rejects(14) }, 14, 'code 14'],
])('the check fails with the remedy for %s', async (_, server, code, remedy) => {
  await expect(check(server)).rejects.toMatchObject({ code });
  await expect(check(server)).rejects.toThrow(remedy);
});
