import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { projectRoot } from '../../local/temporal/project-root.js';
import type { FaultInput } from '../../sandbox/faults.js';
import type { Sandbox, SandboxOptions } from '../../sandbox/sandbox.js';
import type { CliProcess } from '../../src/cli/command.js';
import { inMs, newRide } from '../sandbox/booking-calls.js';
import type { WorkerEnv } from '../support/accounts.js';
import { jsonFile, textFile } from '../support/json-file.js';
import { isLong } from '../support/long.js';
import { type CliRun, runHere } from './fake-process.js';
import { answerOf, closeServed, newFile, readProfile, serve, order as underWay } from './probing.js';

afterAll(closeServed);

const rideFile = (): string => jsonFile(newRide({ scheduled_at: inMs(86_400_000), linked_order: underWay }));

async function serveRides(options: SandboxOptions = {}, env: WorkerEnv = {}) {
  const { sandbox, settings, probeAs } = await serve(options, env);
  const probe = (argv: string[], more?: Partial<CliProcess>) =>
    probeAs(['business', '--ride', rideFile(), ...argv], more);
  const order = (...argv: string[]) => probe(['--really-order', '--yes', ...argv]);
  return { sandbox, probe, order, settings };
}

const verdictsOf = (run: CliRun) => answerOf(run).findings.map(({ asks, verdict }) => [asks, verdict]);
const operationsOf = (file: string) => readProfile(file).operations;
const createsAt = (sandbox: Sandbox) => sandbox.ledger().filter(({ operation }) => operation === 'createOrder');
const isCancelledAt = (sandbox: Sandbox, orderId: string): boolean =>
  sandbox.orderCourse('business', orderId).at(-1)?.status === 'Cancelled';
const areCancelledAt = (sandbox: Sandbox): boolean[] =>
  sandbox.createdOrders().map(({ orderId }) => isCancelledAt(sandbox, orderId));
const again = 'createOrder again under the same request id';

describe.concurrent('the ride of a probe', () => {
  it('is not ordered without being told to, and the plan says what would happen', async () => {
    const { sandbox, probe } = await serveRides();
    const run = await probe([]);
    expect(run).toMatchObject({ exitCode: 0, stderr: '' });
    expect(run.stdout).toMatch(/Nothing is ordered\. .*--really-order.* REAL ride for account business/);
    expect(run.stdout).toContain('POST /v1/orders?businessId={business_id}');
    expect(sandbox.ledger()).toEqual([]);
  });

  it('proves create, repeat, read, cancel and receipt, slowly, and leaves no order', async () => {
    const { sandbox, order } = await serveRides();
    const file = newFile();
    const run = await order('--json', '--write', file);
    expect(verdictsOf(run).slice(2)).toEqual([
      ['createOrder', 'fits'],
      [again, 'fits'],
      ['orderDetails', 'fits'],
      ['cancelOrder', 'fits'],
      ['orderDetails after the cancel', 'fits'],
      ['orderReceipt', 'fits'],
    ]);
    expect(run.exitCode).toBe(0);
    const creates = createsAt(sandbox);
    const { requestId, standing } = answerOf(run).ride;
    expect(creates.map((one) => one.requestId)).toEqual([requestId, requestId]);
    expect({ standing, made: areCancelledAt(sandbox) }).toEqual({ standing: [], made: [true] });
    const { createOrder, cancelOrder, orderReceipt, orderDetails } = operationsOf(file);
    const verified = { source: 'verified', verifiedOn: new Date().toISOString().slice(0, 10) };
    for (const operation of [createOrder, cancelOrder, orderReceipt, orderDetails])
      expect(operation).toMatchObject(verified);
    expect(createOrder.repeatable).toBe(true);
    const times = sandbox.ledger().map(({ at }) => Date.parse(at));
    expect(Math.min(...times.slice(1).map((at, index) => at - (times[index] ?? 0)))).toBeGreaterThan(200);
  });

  it('shows its request id before anything is sent, and each step as it happens', async () => {
    const { sandbox, probe } = await serveRides();
    const seen: [text: string, creates: number][] = [];
    const stdout = { write: (text: string) => seen.push([text, createsAt(sandbox).length]) };
    expect(await probe(['--really-order', '--yes'], { stdout })).toMatchObject({ exitCode: 0 });
    const at = (part: string) => seen.find(([text]) => text.includes(part))?.[1];
    const [{ requestId = '' } = {}] = createsAt(sandbox);
    expect([at(requestId), at('createOrder: fits'), at('Ordered: '), at(`${again}: fits`)]).toEqual([0, 1, 1, 2]);
  });

  it('with --json tells request id and order id at once on stderr', async () => {
    const { sandbox, order } = await serveRides();
    const run = await order('--json');
    const [created] = sandbox.createdOrders();
    const lines = run.stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);
    expect(lines).toEqual([{ requestId: created?.requestId }, { orderId: created?.orderId }]);
  });

  it('that became two orders under one request id has both cancelled, says so, and keeps repeatable false', async () => {
    const { sandbox, order } = await serveRides({ bookings: { forgetsRequestIds: true } });
    const file = newFile();
    const run = await order('--write', file);
    expect(areCancelledAt(sandbox)).toEqual([true, true]);
    expect(run.stdout).toContain('A SECOND ORDER WAS MADE under the same request id');
    expect(operationsOf(file).createOrder).toMatchObject({ repeatable: false, source: 'verified' });
    expect(run.exitCode).toBe(0);
  });

  it('disproves a profile that says repeatable', async () => {
    const claim = jsonFile({ operations: { createOrder: { repeatable: true } } });
    const { order } = await serveRides({ bookings: { forgetsRequestIds: true } }, { FARETRAIL_CONTRACT_FILE: claim });
    const file = newFile();
    expect(await order('--write', file)).toMatchObject({ exitCode: 1 });
    expect(operationsOf(file).createOrder.repeatable).toBe(false);
  });

  it.each<[what: string, fault: FaultInput]>([
    ['no answer after the create', { kind: 'dropConnection', when: 'answer' }],
    ['half an answer', { kind: 'dropConnection', when: 'middle' }],
    ['502', { kind: 'reply', status: 502, body: '', when: 'answer' }],
    ['503', { kind: 'unavailable', when: 'answer' }],
    ['a page', { kind: 'html', when: 'answer' }],
    ['a success without an id', { kind: 'reply', status: 201, body: {}, when: 'answer' }],
    [
      'a success with two ids',
      { kind: 'reply', status: 201, body: { before: { ref: 'earlier' }, b: { ref: 'y' } }, when: 'answer' },
    ],
    [
      'a success that repeats an id of ours',
      { kind: 'reply', status: 201, body: { linked: { ref: underWay } }, when: 'answer' },
    ],
  ])('with an unclear answer (%s) is never repeated, and a person is told where to look', async (_, fault) => {
    const { sandbox, order } = await serveRides();
    sandbox.addOrder({ interface: 'business', orderId: 'earlier', script: [{ status: 'Routing', afterMs: 0 }] });
    sandbox.setFault({ ...fault, operation: 'createOrder' });
    const run = await order();
    expect(createsAt(sandbox)).toHaveLength(1);
    const [created] = sandbox.createdOrders();
    expect(run.stdout).toMatch(new RegExp(`AN ORDER MAY EXIST .* request id ${created?.requestId}`));
    expect(run.exitCode).toBe(1);
    expect(sandbox.ledger().filter(({ operation }) => operation === 'cancelOrder')).toEqual([]);
  });

  it.each<[what: string, fault: FaultInput]>([
    ['422', { kind: 'reply', status: 422, body: {} }],
    ['403', { kind: 'forbidden' }],
    ['429', { kind: 'tooManyRequests' }],
  ])('that the service refuses with %s was not ordered, and nothing more is asked', async (_, fault) => {
    const { sandbox, order } = await serveRides();
    sandbox.setFault({ ...fault, operation: 'createOrder' });
    const run = await order('--json');
    expect(answerOf(run).ride).toMatchObject({ standing: [], mayHaveMore: false });
    expect(sandbox.ledger().at(-1)).toMatchObject({ operation: 'createOrder' });
    expect(run.exitCode).toBe(1);
  });

  it('is not ordered where the token for its cancel is missing', async () => {
    const cancelled = jsonFile({ operations: { cancelOrder: { scope: 'nowhere' } } });
    const { sandbox, order } = await serveRides({}, { FARETRAIL_CONTRACT_FILE: cancelled });
    expect(await order()).toMatchObject({ exitCode: 1 });
    expect(createsAt(sandbox)).toEqual([]);
  });

  it('is cancelled at Ctrl-C', async () => {
    const { sandbox, probe } = await serveRides();
    let interrupt = () => undefined as unknown;
    const onInterrupt: CliProcess['onInterrupt'] = (act) => {
      interrupt = act;
      return () => undefined;
    };
    const stdout = { write: (text: string) => void (text.includes('Ordered: ') && interrupt()) };
    const run = await probe(['--really-order', '--yes'], { stdout, onInterrupt });
    expect(areCancelledAt(sandbox)).toEqual([true]);
    expect(createsAt(sandbox)).toHaveLength(1);
    expect(run).toMatchObject({ exitCode: 130, stderr: expect.stringContaining('will be cancelled') });
  });

  it('that cannot be cancelled is named with its order id and the command', async () => {
    const { sandbox, order } = await serveRides({ otherAnswers: { cancelOrder: { url: '/v1/orders/:orderId/stop' } } });
    const run = await order();
    const [created] = sandbox.createdOrders();
    expect(run.exitCode).toBe(1);
    const id = created?.orderId;
    expect(run.stdout).toMatch(
      new RegExp(`ORDER ${id} MAY STAND\\. .*: faretrail call business cancelOrder --order ${id}$`, 'm'),
    );
    expect(run.stdout).toContain('check operations.cancelOrder.path');
  });

  it('is cancelled, and named, where the order cannot be read', async () => {
    const { sandbox, order } = await serveRides({ otherAnswers: { orderDetails: { url: '/v1/trip/:orderId' } } });
    const file = newFile();
    const run = await order('--write', file, '--json');
    expect(areCancelledAt(sandbox)).toEqual([true]);
    expect(answerOf(run).ride.standing).toHaveLength(1);
    // What nobody has read may be any id: neither the repeat nor the cancel is proven.
    expect(operationsOf(file)).toMatchObject({
      createOrder: { repeatable: false },
      cancelOrder: { source: 'assumed' },
    });
  });

  it("is seen cancelled by the service's own word, where the profile knows it", async () => {
    const own = jsonFile({ statuses: { endWords: { storniert: 'Cancelled' } } });
    const otherAnswers = { orderDetails: { words: { Cancelled: 'storniert' } } };
    const { sandbox, order } = await serveRides({ otherAnswers }, { FARETRAIL_CONTRACT_FILE: own });
    const run = await order('--json');
    expect({ exitCode: run.exitCode, standing: answerOf(run).ride.standing }).toEqual({ exitCode: 0, standing: [] });
    expect(areCancelledAt(sandbox)).toEqual([true]);
  });

  it('is found where its id stands elsewhere, if it is the only id of the answer', async () => {
    const createOrder = { under: ['result'], names: { id: 'ride_ref' }, status: 202 };
    const { sandbox, order } = await serveRides({ otherAnswers: { createOrder } });
    const file = newFile();
    const run = await order('--json', '--write', file);
    expect(areCancelledAt(sandbox)).toEqual([true]);
    expect(answerOf(run).changes).toContain('pointers.createOrder.orderId: put "/result/ride_ref" first');
    expect(operationsOf(file).createOrder).toMatchObject({ repeatable: true, success: [200, 201, 202] });
  });
});

describe.concurrent('the process of a probe that has ordered', () => {
  const leave: [how: string, act: (child: ChildProcess) => unknown][] = [
    ['Ctrl-C', (child) => child.kill('SIGINT')],
    ['a closed terminal', (child) => child.kill('SIGHUP')],
    ['a reader that has gone', (child) => child.stdout?.destroy()],
  ];
  it.each(leave)('cancels the order after %s', async (_, act) => {
    const { sandbox, settings } = await serveRides();
    const argv = ['dist/src/starter.js', 'probe', 'business', '--ride', rideFile(), '--really-order', '--yes'];
    const env = { PATH: process.env.PATH, ...settings };
    const child = spawn(process.execPath, argv, { cwd: projectRoot, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    child.stdout.on('data', (piece: Buffer) => {
      const wasOrdered = said.includes('Ordered: ');
      said += piece.toString();
      if (!wasOrdered && said.includes('Ordered: ')) act(child);
    });
    let hinted = '';
    child.stderr.on('data', (piece: Buffer) => (hinted += piece.toString()));
    expect(await once(child, 'exit')).toEqual([130, null]);
    expect(hinted).toContain('will be cancelled');
    expect(areCancelledAt(sandbox)).toEqual([true]);
  });
});

describe.concurrent('the word of a person', () => {
  it('at a terminal is the name of the account, typed twice', async () => {
    const { sandbox, probe } = await serveRides();
    const typing = (...lines: string[]) => ({ question: async () => lines.shift() ?? '' });
    for (const lines of [['no'], ['business', ''], ['business', 'partner']])
      expect(await probe(['--really-order'], typing(...lines))).toMatchObject({ exitCode: 2 });
    expect(sandbox.ledger()).toEqual([]);
    expect(await probe(['--really-order'], typing('business', 'business'))).toMatchObject({ exitCode: 0 });
    expect(sandbox.createdOrders()).toHaveLength(1);
  });

  it.each<[argv: string[], reason: string]>([
    [['business', '--ride', 'RIDE', '--really-order'], '--yes: needed where no person can be asked'],
    [['business', '--really-order'], '--really-order, --yes: only with --ride'],
    [['business', '7b21', '--ride', 'RIDE'], '--ride: give no order id beside it'],
    [['partner', '--ride', 'RIDE'], '--ride: only an account of the business interface'],
    [['business', '--ride', 'TEXT'], 'is not JSON'],
    [['business', '--ride', 'EMPTY', '--really-order', '--yes'], 'body.category: '],
  ])('%j is wrong usage, and nothing is sent', async (argv, reason) => {
    const { sandbox, settings } = await serveRides();
    const files: Record<string, string> = { RIDE: rideFile(), TEXT: textFile('{'), EMPTY: jsonFile({}) };
    const run = await runHere(['probe', ...argv.map((word) => files[word] ?? word)], settings);
    expect(run).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(reason) });
    expect(sandbox.ledger()).toEqual([]);
  });
});

/** What may happen to one of the calls of a trial. */
const mishap = fc.record({
  operation: fc.constantFrom('createOrder' as const, 'orderDetails' as const, 'cancelOrder' as const),
  kind: fc.constantFrom('dropConnection' as const, 'serverError' as const, 'unavailable' as const, 'html' as const),
  when: fc.constantFrom('request' as const, 'answer' as const),
  times: fc.integer({ min: 1, max: 4 }),
  /** After how many orders. */
  after: fc.integer({ min: 0, max: 1 }),
});
const course = fc.record({
  forgets: fc.boolean(),
  mishaps: fc.array(mishap, { maxLength: 2 }),
  /** At which line of the output the operator presses Ctrl-C. */
  stopAt: fc.option(fc.integer({ min: 3, max: 9 })),
});

describe.concurrent('whatever goes wrong', () => {
  const courses = fc.sample(course, { numRuns: isLong ? 80 : 12, seed: 18 });
  it.each(courses)(
    '%j: each order is cancelled or named, and at most two are made',
    async (drawn) => {
      const { sandbox, probe } = await serveRides({ bookings: { forgetsRequestIds: drawn.forgets } });
      const set = (after: number) => {
        for (const { after: at, ...fault } of drawn.mishaps) if (at === after) sandbox.setFault(fault);
      };
      set(0);
      let lines = 0;
      let interrupt = () => undefined as unknown;
      let said = '';
      const stdout = {
        write(text: string) {
          said += text;
          lines += 1;
          if (text.includes('Ordered: ') && sandbox.createdOrders().length === 1) set(1);
          if (lines === drawn.stopAt) interrupt();
        },
      };
      const onInterrupt: CliProcess['onInterrupt'] = (act) => {
        interrupt = act;
        return () => undefined;
      };
      const { exitCode } = await probe(['--really-order', '--yes'], { stdout, onInterrupt });
      expect(createsAt(sandbox).length).toBeLessThanOrEqual(2);
      const left = sandbox.createdOrders().filter(({ orderId }) => !isCancelledAt(sandbox, orderId));
      const isNamed = left.every(({ orderId }) => said.includes(`ORDER ${orderId} MAY STAND`));
      expect(isNamed || said.includes('AN ORDER MAY EXIST'), said).toBe(true);
      if (left.length > 0) expect(exitCode).toBe(1);
    },
    120_000,
  );
});

it('writes no profile where nothing was ordered', async () => {
  const { probe } = await serveRides();
  const file = newFile();
  await probe(['--write', file]);
  expect(existsSync(file)).toBe(false);
});
