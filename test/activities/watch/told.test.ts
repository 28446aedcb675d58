import { describe, expect, it } from 'vitest';
import { toAccountName } from '../../../src/domain/keys.js';
import { apiError } from '../service.js';
import { iso, minute, second, start } from '../temporal.js';
import { HostStage, orderOf } from './host.js';
import { ended } from './stage.js';
import { pass, useOwnTime } from './time.js';

useOwnTime();

describe('what a watch tells its run', () => {
  it('is once who polls, and then only news about the trouble of the account', async () => {
    const host = new HostStage();
    await host.watching1();
    expect(host.told).toEqual([{ worker: '7@host', orders: 1, attention: null }]);
    host.answer = apiError('TOKEN_REJECTED');
    await pass(10 * minute);
    expect(host.told.slice(1)).toMatchObject([{ attention: { code: 'credentialsRejected' } }]);
    host.answer = { status: 'Routing', rawStatus: 'Routing', terminal: false, details: null };
    await pass(2 * minute);
    expect(host.told.slice(2)).toMatchObject([{ attention: null }]);
  });

  it('comes later if Temporal does not answer', async () => {
    const host = new HostStage();
    await host.watching1();
    host.isTemporalDown = true;
    host.answer = apiError('TOKEN_REJECTED');
    await pass(2 * minute);
    expect(host.told).toHaveLength(1);
    host.isTemporalDown = false;
    await pass(5 * second);
    expect(host.told.at(-1)).toMatchObject({ attention: { code: 'credentialsRejected' } });
  });
});

describe('what a watch tells the subscription', () => {
  /** One order of whose end a delivery has told; counts are told each ten minutes. */
  async function counting() {
    const host = new HostStage({ counts: 10 * minute });
    const running = await host.watching1();
    host.answer = ended();
    Object.assign(host.run, { isOpen: false, status: 'Completed', isAnnounced: true });
    await pass(30 * second);
    return { host, running };
  }
  const counts = { read: 0, delivered: 1, from: iso(start) };

  it('is told now and then, and nothing if nothing has changed', async () => {
    const { host } = await counting();
    host.listed = [orderOf('2', { pushed: true })];
    await host.add('2', { pushed: true });
    Object.assign(host.run, { isOpen: true, status: 'Routing' });
    host.answer = { status: 'Routing', rawStatus: 'Routing', terminal: false, details: null };
    await pass(8 * minute);
    expect(host.toldCounts).toEqual([]);
    await pass(20 * minute);
    expect(host.toldCounts).toEqual([counts]);
  });

  it('is told when the watch ends', async () => {
    const { host, running } = await counting();
    host.isLeaving = true;
    await pass(3 * second);
    expect(running.isOver).toBe(true);
    expect(host.toldCounts).toEqual([counts]);
  });

  it('is not lost if Temporal does not answer', async () => {
    const { host } = await counting();
    await host.add('2', { pushed: true });
    host.listed = [orderOf('2', { pushed: true })];
    Object.assign(host.run, { isOpen: true, status: 'Routing' });
    host.answer = { status: 'Routing', rawStatus: 'Routing', terminal: false, details: null };
    await pass(8 * minute);
    host.isTemporalDown = true;
    await pass(2 * minute);
    host.isTemporalDown = false;
    await pass(20 * minute);
    expect(host.toldCounts).toMatchObject([{ delivered: 1 }]);
  });
});

describe('lists of live orders', () => {
  it('are made at the beginning, twice after a minute, and then each eight minutes', async () => {
    const host = new HostStage();
    await host.watching1();
    await pass(20 * minute);
    expect(host.lists.map((at) => Math.round((at - start) / minute))).toEqual([0, 1, 2, 10, 18]);
  });

  it('are made again soon when visibility does not answer, which is logged once', async () => {
    const host = new HostStage();
    host.listed = new Error('unavailable');
    host.attempt();
    await pass(70 * second);
    expect(host.lists.map((at) => Math.round((at - start) / second))).toEqual([0, 2, 6, 14, 30, 60]);
    expect(host.warnings).toHaveLength(1);
    host.listed = [orderOf('1')];
    await pass(40 * second);
    expect(host.asked.length).toBeGreaterThan(0);
  });
});

describe('a worker that sees to it that watches run', () => {
  const name = toAccountName('acme');

  it('asks Temporal once a minute for each account, and not for one whose watch it holds', async () => {
    const host = new HostStage();
    for (let turn = 0; turn < 60; turn += 1) {
      await host.watching.start(name);
      await pass(3 * second);
    }
    expect(host.started).toHaveLength(3);
    await host.watching1();
    await host.watching.start(orderOf('1').account);
    expect(host.started).toHaveLength(3);
  });

  it('asks at once for a watch that has just ended here', async () => {
    const host = new HostStage();
    const held = orderOf('1').account;
    const running = host.attempt();
    for (let waited = 0; !running.isOver && waited < 180; waited += 1) await pass(second);
    await host.watching.start(held);
    expect(host.started).toHaveLength(1);
    const again = host.attempt();
    await pass(5 * second);
    again.cancel({ cancelRequested: true });
    await pass(second);
    await host.watching.start(held);
    expect(host.started).toHaveLength(2);
  });

  it('asks again at once after Temporal did not answer, and never fails', async () => {
    const host = new HostStage();
    host.isTemporalDown = true;
    await host.watching.start(name);
    host.isTemporalDown = false;
    await host.watching.start(name);
    expect(host.started).toHaveLength(1);
  });

  it('asks for its accounts one after the other when it starts, until it leaves', async () => {
    const host = new HostStage();
    const names = Array.from({ length: 100 }, (_, id) => toAccountName(`acme-${id}`));
    const starting = host.watching.startAll(names);
    await pass(second);
    expect(host.started.length).toBeGreaterThan(10);
    expect(host.started.length).toBeLessThanOrEqual(21);
    host.isLeaving = true;
    await pass(second);
    await starting;
    expect(host.started.length).toBeLessThanOrEqual(21);
  });
});
