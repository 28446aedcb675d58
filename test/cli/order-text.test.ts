import { stripVTControlCharacters as withoutColour } from 'node:util';
import type { Client } from '@temporalio/client';
import { describe, expect, it } from 'vitest';
import { createContext, type Session } from '../../src/cli/command.js';
import { changesBetween, changeText, timelineLine, trailText as trailShown } from '../../src/cli/order/view.js';
import { standingText } from '../../src/cli/ride.js';
import { type AskedRun, decisionsText, watchRun } from '../../src/cli/runs.js';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import { type OrderTrail, openTrail, type TimelineEntry } from '../../src/domain/order/trail.js';
import { openRide, outcomeUnknown } from '../../src/domain/ride/ride.js';
import { type FoundRun, readDecisions } from '../../src/temporal/runs.js';
import { fakeProcess } from './fake-process.js';

const entry = (status: string, second: number, more: Partial<TimelineEntry> = {}): TimelineEntry => ({
  status,
  rawStatus: status,
  at: new Date(Date.UTC(2026, 4, 1, 8, 30, second, 123)).toISOString(),
  source: 'read',
  ...more,
});

const attention = { code: 'forbidden', message: 'ask', since: '2026-05-01T08:31:00.000Z' } as const;

/** The trail of an order that is being driven. */
const aTrail = (more: Partial<OrderTrail> = {}): OrderTrail => ({
  ...openTrail({ account: toAccountName('partner'), orderId: toOrderId('42') }, '2026-05-01T08:30:20.123Z'),
  ...{ status: 'Driving', rawStatus: 'Driving', timeline: [entry('Pending', 0), entry('Driving', 20)], reads: 12 },
  ...more,
});

const trailText = (trail: OrderTrail): string => withoutColour(trailShown(trail));

it('the text of a ride shows what the run of its order shows about the ride', () => {
  const ride = openRide({ account: toAccountName('business'), requestId: 'trip-9', order: {} });
  const orderAttention = { ...attention, code: 'latePickup' as const };
  const textWith = (one: typeof orderAttention | null) =>
    withoutColour(standingText({ ...ride, orderAttention: one }, () => ''));
  expect(textWith(orderAttention)).toContain('latePickup since 2026-05-01 08:31:00 UTC: ask');
  expect(textWith(null)).not.toContain('latePickup');
});

it('the text of a ride in doubt has the command with the order that the service named, and the other ways', () => {
  const ride = openRide({ account: toAccountName('business'), requestId: 'trip-9', order: {} });
  const suggestedOrderId = toOrderId('7b21');
  const attention = outcomeUnknown(ride, { reason: 'It was refused.', suggestedOrderId }, '2026-05-01T08:31:00.000Z');
  const commandLine = (...words: string[]) => ['faretrail', ...words].join(' ');
  const textWith = (suggested: typeof suggestedOrderId | null) =>
    withoutColour(standingText({ ...ride, attention, suggestedOrderId: suggested }, commandLine));
  const decide = 'decide    faretrail ride resolve business trip-9 --order';
  expect(textWith(suggestedOrderId)).toContain(`${decide} 7b21 | --try-again | --give-up REASON`);
  expect(textWith(null)).toContain(`${decide} ID | --try-again | --give-up REASON`);
});

describe('a trail as text', () => {
  it('shows status, outcome, attention, counts and the timeline, in UTC to the second', () => {
    const trail = aTrail({ reference: 'trip-9', deliveries: { received: 3, duplicate: 1 } });
    expect(trailText(trail).split('\n')).toEqual([
      'Order 42 of account partner',
      'status     Driving since 2026-05-01 08:30:20 UTC',
      'outcome    still open',
      'reference  trip-9',
      'attention  none',
      'seen by    12 reads, 3 deliveries (1 duplicate)',
      '',
      '2026-05-01 08:30:00  Pending       read',
      '2026-05-01 08:30:20  Driving       read',
    ]);
  });

  it('says where to set the meaning of a word that we do not know, unless the profile makes it an end', () => {
    const strange = { status: 'EnRoute', rawStatus: 'EnRoute', timeline: [entry('EnRoute', 0)] };
    const meaning = 'meaning    unknown; set it in statuses.words of the contract profile';
    expect(trailText(aTrail(strange))).toContain(meaning);
    expect(trailText(aTrail({ ...strange, terminal: true }))).not.toContain('meaning');
    expect(trailText(aTrail())).not.toContain('meaning');
  });

  it('says that the order has not been read yet', () => {
    const text = trailText(aTrail({ status: null, rawStatus: null, timeline: [], reads: 0 }));
    expect(text).toContain('not read yet, followed since 2026-05-01 08:30:20 UTC');
    expect(text).toContain('nothing read yet');
  });

  it('names what needs a person, and since when', () => {
    const text = 'forbidden since 2026-05-01 08:31:00 UTC: ask';
    expect(trailText(aTrail({ attention }))).toContain(`attention  ${text}`);
    const line = (one: typeof attention | null) => withoutColour(changeText({ change: 'attention', attention: one }));
    expect(line(attention)).toBe(`attention: ${text}`);
    expect(line(null)).toBe('attention cleared');
  });

  it('shows the details of the order, nested ones and times too', () => {
    const details = { scheduledAt: '2026-05-01T12:00:00+02:00', supplier: { name: 'Acme' } };
    const text = trailText(aTrail({ details }));
    expect(text).toContain('scheduled at   2026-05-01 10:00:00 UTC');
    expect(text).toContain('supplier name  Acme');
  });

  it('lets no word of the service steer the terminal', () => {
    const evil = '\u001b]0;x\u0007\u009b31m\u202eDrv\r\n';
    const trail = aTrail({
      status: evil,
      reference: evil,
      timeline: [entry(evil, 0, { rawStatus: `${evil}2` })],
      attention: { code: 'forbidden', message: evil, since: evil },
      details: { [evil]: { [evil]: evil } },
    });
    expect(trailText(trail).replaceAll('\n', '')).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u);
  });
});

it('a line of a timeline shows another raw status, a delivery, and when its event happened', () => {
  const lineOf = (entry: TimelineEntry) => withoutColour(timelineLine(entry));
  const cancelled = entry('Cancelled', 5, { rawStatus: 'canceled' });
  expect(lineOf(cancelled)).toBe('2026-05-01 08:30:05  Cancelled     read (came as canceled)');
  const seen = entry('Driving', 5, { source: 'delivery' });
  expect(lineOf(seen)).toBe('2026-05-01 08:30:05  Driving       delivery');
  const told = entry('Driving', 5, { eventTime: '2026-05-01T08:30:02.740Z', rawStatus: 'driving' });
  expect(lineOf(told)).toBe('2026-05-01 08:30:05  Driving       read (happened 2026-05-01 08:30:02) (came as driving)');
});

const open = (trail: OrderTrail) => ({ trail, isOpen: true });

describe('what watch prints', () => {
  it('is the whole timeline at first, then only what is new', () => {
    const before = aTrail();
    const first = changesBetween(null, open(before)).map((change) => 'status' in change && change.status);
    expect(first).toEqual(['Pending', 'Driving']);
    const after = aTrail({ timeline: [...before.timeline, entry('CareReq', 30), entry('Driving', 40)] });
    expect(changesBetween(before, open(after))).toEqual([
      { change: 'status', ...entry('CareReq', 30) },
      { change: 'status', ...entry('Driving', 40) },
    ]);
    expect(changesBetween(after, open(after))).toEqual([]);
  });

  it('is only what is new, too, when the timeline has lost its oldest entries', () => {
    const after = aTrail({ timeline: [entry('Driving', 20), entry('CareReq', 30)] });
    expect(changesBetween(aTrail(), open(after))).toEqual([{ change: 'status', ...entry('CareReq', 30) }]);
  });

  it('says when the order needs a person, and when it no longer does', () => {
    expect(changesBetween(aTrail(), open(aTrail({ attention })))).toEqual([{ change: 'attention', attention }]);
    expect(changesBetween(aTrail({ attention }), open(aTrail({ attention })))).toEqual([]);
    expect(changesBetween(aTrail({ attention }), open(aTrail()))).toEqual([{ change: 'attention', attention: null }]);
  });

  it('ends with the trail', () => {
    const ended = aTrail({ outcome: 'completed', terminal: true });
    expect(changesBetween(ended, { trail: ended, isOpen: false })).toEqual([{ change: 'ended', trail: ended }]);
  });
});

it('a command watches on while no worker answers, and says so, until a person interrupts it', async () => {
  let interrupt = (): void => undefined;
  const { process, output } = fakeProcess(undefined, {
    onInterrupt: (act) => {
      interrupt = act;
      return () => undefined;
    },
  });
  const connection = { withAbortSignal: (_: unknown, act: () => unknown) => act() };
  const session = { ...createContext(process, {}), connection } as unknown as Session;
  let looks = 0;
  const run: AskedRun<never, never> = {
    async find() {
      looks += 1;
      if (looks > 1) interrupt();
      return { isOpen: true, version: String(looks) } as FoundRun;
    },
    ask: () => Promise.reject(new Error('no worker')),
    result: () => expect.fail('the run is open'),
  };
  const print = () => expect.fail('a run without a worker has nothing to print');
  expect(await watchRun(session, run, { farewell: 'farewell', print })).toBe(130);
  expect(output.stderr).toBe('no worker answers; changes appear once one runs: npm run worker\nfarewell\n');
});

it('the name that the authorizer of the server has proved is shown beside the one that the caller gave', async () => {
  const eventTime = { seconds: 0, nanos: 0 };
  const attributes = { identity: 'anna' };
  const events = [
    { eventTime, workflowExecutionStartedEventAttributes: attributes, principal: { type: 'jwt', name: 'ben' } },
    { eventTime, workflowExecutionCancelRequestedEventAttributes: attributes },
  ];
  const handle = { fetchHistory: async () => ({ events }) };
  const client = { workflow: { getHandle: () => handle }, withDeadline: (_: number, call: () => unknown) => call() };
  const decisions = await readDecisions({ client: client as unknown as Client }, 'order/business/1');
  expect(decisions.map(({ by, principal }) => [by, principal])).toEqual([
    ['anna', 'ben'],
    ['anna', null],
  ]);
  expect(withoutColour(decisionsText(decisions))).toContain('start by anna (proved: ben)\n');
});
