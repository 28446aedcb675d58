import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { Client, request } from 'undici';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FaultInput } from '../../sandbox/faults.js';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.js';
import { askToken, newToken, quietOrder, readPartnerOrder } from './calls.js';

let sandbox: Sandbox;
let token: string;
beforeEach(async () => {
  sandbox = await startSandbox();
  token = await newToken(sandbox, 'partner');
  sandbox.addOrder(quietOrder('partner', 'p-1'));
});
afterEach(() => sandbox.close());

const read = () => readPartnerOrder(sandbox, 'p-1', token);
const timed = async <T>(run: () => Promise<T>) => {
  const start = performance.now();
  return { result: await run(), tookMs: performance.now() - start };
};
const statusRequest = () =>
  request(`${sandbox.url}/v1/private/orders/status/p-1`, {
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
  });

describe('slow', () => {
  it('waits before it answers, with what was true when the call came', async () => {
    sandbox.setFault({ kind: 'slow', delayMs: 200 });
    const reading = timed(read);
    await expect.poll(() => sandbox.ledger({ orderId: 'p-1' }), { interval: 5 }).toHaveLength(1);
    sandbox.setStatus('partner', 'p-1', 'Confirmed');
    const { result, tookMs } = await reading;
    expect(tookMs).toBeGreaterThan(190);
    expect(result).toMatchObject({ status: 200, json: { order: { status: 'Routing' } } });
  });

  it('drops the call when the sandbox went down meanwhile', async () => {
    sandbox.setFault({ kind: 'slow', delayMs: 500 });
    const reading = expect(read()).rejects.toThrow();
    await expect.poll(() => sandbox.ledger({ orderId: 'p-1' }), { interval: 5 }).toHaveLength(1);
    sandbox.setDown(true);
    await reading;
  });
});

describe('slowBody', () => {
  it('sends headers at once and the body in small pieces', async () => {
    sandbox.setFault({ kind: 'slowBody', durationMs: 1_500 });
    const { result: answer, tookMs: untilHeaders } = await timed(statusRequest);
    const pieces: string[] = [];
    const { tookMs: untilEnd } = await timed(async () => {
      for await (const piece of answer.body) pieces.push(String(piece));
    });
    expect(answer.statusCode).toBe(200);
    expect(untilHeaders).toBeLessThan(1_000);
    expect(untilEnd).toBeGreaterThan(200);
    expect(pieces.length).toBeGreaterThan(3);
    expect(JSON.parse(pieces.join(''))).toMatchObject({ order: { status: 'Routing' } });
  });
});

describe('dropConnection', () => {
  it.each(['request', 'answer'] as const)('hangs up without an answer (%s)', async (when) => {
    sandbox.setFault({ kind: 'dropConnection', when });
    await expect(read()).rejects.toThrow(/other side closed|socket|ECONNRESET/i);
  });

  it('carries the call out or not, as it says', async () => {
    sandbox.setFault({ kind: 'dropConnection', when: 'request', times: 1 });
    await expect(askToken(sandbox, 'partner')).rejects.toThrow();
    expect(sandbox.counts().tokensIssued).toBe(1);
    sandbox.setFault({ kind: 'dropConnection', when: 'answer', times: 1 });
    await expect(askToken(sandbox, 'partner')).rejects.toThrow();
    expect(sandbox.counts().tokensIssued).toBe(2);
  });

  it('breaks off in the middle of the body', async () => {
    sandbox.setFault({ kind: 'dropConnection', when: 'middle' });
    const answer = await statusRequest();
    expect(answer.statusCode).toBe(200);
    let seen = '';
    const reading = async () => {
      for await (const piece of answer.body) seen += String(piece);
    };
    await expect(reading()).rejects.toThrow();
    expect(seen).toMatch(/^\{"order"/);
  });
});

describe('hugeJson', () => {
  const huge = (bytes: number): FaultInput => ({ kind: 'hugeJson', bytes });

  it('is valid JSON beyond a mebibyte to a client that reads it all', async () => {
    sandbox.setFault(huge(2_000_000));
    const { text, json } = await read();
    expect(text.length).toBeGreaterThan(2_000_000);
    expect(json).toMatchObject({ order: { status: 'Routing' } });
  });

  it('ends when the client hangs up', async () => {
    sandbox.setFault(huge(10_000_000_000));
    const client = new Client(sandbox.url);
    const answer = await client.request({
      method: 'GET',
      path: '/v1/private/orders/status/p-1',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    });
    let read = 0;
    for await (const piece of answer.body) {
      read += (piece as Buffer).length;
      if (read > 3_000_000) break;
    }
    await client.destroy();
    const { tookMs } = await timed(() => sandbox.close());
    expect(tookMs).toBeLessThan(10_000);
    expect(read).toBeLessThan(20_000_000);
  });
});

describe('down', () => {
  it('drops every call, on known and unknown paths, until it is up again', async () => {
    sandbox.setDown(true);
    await expect(read()).rejects.toThrow();
    await expect(askToken(sandbox, 'business')).rejects.toThrow();
    await expect(request(`${sandbox.url}/nowhere`)).rejects.toThrow();
    expect(sandbox.ledger().slice(-3)).toMatchObject(Array(3).fill({ httpStatus: null, fault: 'down' }));
    sandbox.setDown(false);
    expect((await read()).status).toBe(200);
  });
});

describe('close', () => {
  it('does not wait for idle or unfinished connections', async () => {
    sandbox.setFault({ kind: 'slow', delayMs: 60_000 });
    const unfinished = expect(read()).rejects.toThrow();
    const idle = connect(Number(new URL(sandbox.url).port), '127.0.0.1');
    await once(idle, 'connect');
    await wait(50);
    const { tookMs } = await timed(() => sandbox.close());
    expect(tookMs).toBeLessThan(10_000);
    await unfinished;
    idle.destroy();
  });
});
