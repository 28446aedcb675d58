import { describe, expect, it } from 'vitest';
import { ensureSearchAttributes, type SearchAttributeServices } from '../../src/temporal/search-attributes.js';

const names = ['RideAccount', 'RideStatus', 'RideSeenBy', 'RideAttention'];
const allKeywords = Object.fromEntries(names.map((name) => [name, 2]));
const create =
  'temporal operator search-attribute create --namespace rides --name RideAccount --name RideStatus --name RideSeenBy --name RideAttention --type Keyword';

const grpcError = (code: number) => Object.assign(new Error(`code ${code}`), { code, details: '', metadata: {} });
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

  it('come with the exact command when we may not register them', async () => {
    await expect(check({ list: async () => ({ customAttributes: {} }) })).rejects.toMatchObject({
      code: 'SearchAttributesMissing',
      message: expect.stringContaining(create),
    });
  });

  it('are refused under another type', async () => {
    const list = async () => ({ customAttributes: { ...allKeywords, RideStatus: 1 } });
    await expect(check({ list })).rejects.toMatchObject({
      code: 'SearchAttributesMistyped',
      message: expect.stringMatching(/RideStatus \(Text\).*remove --namespace rides --name RideStatus/),
    });
  });
});

describe('search attributes of a server that does not list them', () => {
  it('are found by asking for runs', async () => {
    expect(await check({ count: async () => ({}) })).toEqual({ registered: [], checkedBy: 'query' });
  });

  it('come with the command when a query does not know them', async () => {
    const count = () => Promise.reject(grpcError(3));
    await expect(check({ count })).rejects.toMatchObject({
      code: 'SearchAttributesMissing',
      message: expect.stringContaining(create),
    });
  });

  it('stay unchecked when it lets us see nothing', async () => {
    expect(await check({})).toEqual({ registered: [], checkedBy: 'nothing' });
  });
});

it('names a namespace that does not exist', async () => {
  await expect(check({ list: () => Promise.reject(grpcError(5)) })).rejects.toMatchObject({
    code: 'NamespaceUnknown',
    message: expect.stringContaining('temporal operator namespace create --namespace rides'),
  });
});

it('passes on an error that says nothing about the attributes', async () => {
  await expect(check({ list: () => Promise.reject(grpcError(14)) })).rejects.toMatchObject({ code: 14 });
});
