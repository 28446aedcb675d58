import { describe, expect, it } from 'vitest';
import { ensureSearchAttributes, type SearchAttributeServices } from '../../src/temporal/search-attributes.js';

const names = ['RideAccount', 'RideStatus', 'RideSeenBy', 'RideAttention'];
const allKeywords = Object.fromEntries(names.map((name) => [name, 2]));
const create = `temporal operator search-attribute create --namespace rides ${names.map((name) => `--name ${name}`).join(' ')} --type Keyword`;

const grpcError = (code: number) => Object.assign(new Error(`code ${code}`), { code, details: '', metadata: {} });
const none = { customAttributes: {} };
const denied = () => Promise.reject(grpcError(7));

interface FakeServer {
  list?: () => Promise<{ customAttributes: Record<string, number> }>;
  add?: (attributes: Record<string, number>) => Promise<object>;
  count?: (query: string) => Promise<object>;
}

/** Stands in for the three calls that the check makes; real servers are met in test/processes. */
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

describe('search attributes', () => {
  it('are left alone when all are there', async () => {
    const list = async () => ({ customAttributes: { ...allKeywords, Other: 1 } });
    expect(await check({ list })).toEqual({ registered: [], checkedBy: 'list' });
  });

  it('are registered when missing, and waited for', async () => {
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

  it('are fine when another worker registered them meanwhile', async () => {
    let known = {};
    const result = check({
      list: async () => ({ customAttributes: known }),
      add: () => {
        known = allKeywords;
        return Promise.reject(grpcError(6));
      },
    });
    await expect(result).resolves.toMatchObject({ checkedBy: 'list' });
  });

  it('are refused under another type', async () => {
    const list = async () => ({ customAttributes: { ...allKeywords, RideStatus: 1 } });
    await expect(check({ list })).rejects.toMatchObject({
      code: 'SearchAttributesMistyped',
      message: expect.stringMatching(/RideStatus \(Text\).*remove --namespace rides --name RideStatus/),
    });
  });
});

it('search attributes of a server that does not list them are checked by a query, or not at all', async () => {
  expect(await check({ count: async () => ({}) })).toEqual({ registered: [], checkedBy: 'query' });
  expect(await check({})).toEqual({ registered: [], checkedBy: 'nothing' });
});

const rejects = (code: number) => () => Promise.reject(grpcError(code));
it.each<[string, FakeServer, number | string, string]>([
  ['attributes that the worker may not register', { list: async () => none }, 'SearchAttributesMissing', create],
  ['attributes that a query does not know', { count: rejects(3) }, 'SearchAttributesMissing', create],
  ['a namespace that does not exist', { list: rejects(5) }, 'NamespaceUnknown', 'namespace create --namespace rides'],
  ['an error that says nothing about them', { list: rejects(14) }, 14, 'code 14'],
])('the check fails with the remedy for %s', async (_, server, code, remedy) => {
  await expect(check(server)).rejects.toMatchObject({ code, message: expect.stringContaining(remedy) });
});
