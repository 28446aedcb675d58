import { expect, inject, it } from 'vitest';
import { createFaretrailClient, type FollowOrderInput } from '../../src/client/index.js';
import { InvalidInput } from '../../src/domain/errors.js';
import { runHere } from '../cli/fake-process.js';
import { partnerEnv } from '../settings/env.js';
import { textFile } from '../support/json-file.js';
import { useOrderStack } from '../support/order/stack.js';

const stack = useOrderStack();

const starterHere = (...words: string[]) =>
  runHere(words, {
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    FARETRAIL_TASK_QUEUE: stack.config.taskQueue,
  });
const importOf = (file: string, ...more: string[]) => starterHere('order', 'import', file, '--json', ...more);
const newOrders = (many: number) => Array.from({ length: many }, () => stack.newOrder('business', [['Completed', 0]]));
const resultOf = (orderId: string) => stack.client.workflow.getHandle(`order/business/${orderId}`).result();
/** How often an order was asked for again. */
const requestsTo = async (orderId: string): Promise<number> =>
  ((await stack.client.workflow.getHandle(`order/business/${orderId}`).fetchHistory()).events ?? []).filter(
    ({ workflowExecutionSignaledEventAttributes: signal }) => signal?.signalName === 'followRequested',
  ).length;

it('follows each order of a CSV file, and tells the rows that are none', async () => {
  const [first = '', second = ''] = newOrders(2);
  const rows = [
    ...['Order ID;reference;Scheduled at;notify', '1,23457E+11;;;', `${first};PO, 1;;`, 'a/b;;;'],
    ...[`${second};;2031-01-01T00:00:00Z;`, `${first};;;`, '1.23E+11;;;', ';;;', 'a;b'],
  ];
  const file = textFile(`\ufeff${rows.join('\r\n')}`, '.csv');
  const { exitCode, stdout } = await importOf(file, '--account', 'business');
  const refused = [
    { row: 1, error: expect.stringContaining('orderId: is a number that a spreadsheet has shortened') },
    { row: 3, error: expect.stringContaining('orderId: must not hold "/"') },
    { row: 6, error: expect.stringContaining('orderId: is a number that a spreadsheet has shortened') },
    { row: 7, error: expect.stringContaining('has not as many fields') },
  ];
  const counts = { rows: 7, followed: 3, new: 2, alreadyFollowed: 1 };
  expect(JSON.parse(stdout)).toEqual({ state: 'done', ...counts, refused, warnings: [] });
  expect(exitCode).toBe(1);
  expect(await resultOf(first)).toMatchObject({ reference: 'PO, 1', outcome: 'completed' });
  expect(await resultOf(second)).toMatchObject({ outcome: 'completed' });
});

it('an account that no worker holds is a warning of the import, and needs a person as long as orders wait for it', async () => {
  const account = 'not-held';
  const { exitCode, stdout } = await importOf(textFile(JSON.stringify({ account, orderId: '1' }), '.jsonl'));
  const missing = `no worker polls task queue ${stack.config.taskQueue}.${account}; start one`;
  expect(JSON.parse(stdout)).toMatchObject({ followed: 1, warnings: [expect.stringContaining(missing)] });
  expect(exitCode).toBe(0);
  const inNeed = async () =>
    JSON.parse((await starterHere('attention', '--json')).stdout).runs.filter(
      ({ kind }: { kind: string }) => kind === 'account',
    );
  const expected = { kind: 'account', account, code: 'noWorker', message: expect.stringContaining(missing) };
  await expect.poll(inNeed).toEqual([expect.objectContaining({ ...expected, command: 'doctor' })]);
  const again = await starterHere('order', 'import', textFile(JSON.stringify({ account, orderId: '1' }), '.jsonl'));
  expect(again).toMatchObject({ exitCode: 0, stdout: '1 rows: 0 new, 1 already followed, 0 refused.\n' });
  expect(again.stderr).toMatch(/^warning: .*no worker polls/);
  await stack.client.workflow.getHandle(`order/${account}/1`).terminate();
  await expect.poll(inNeed).toEqual([]);
});

it('refuses rows of an account that the settings do not know, and follows the others', async () => {
  const env = {
    ...{ TEMPORAL_ADDRESS: inject('temporalAddress'), FARETRAIL_TASK_QUEUE: stack.config.taskQueue },
    ...partnerEnv,
  };
  const rows = ['partne', 'partner'].map((account) => JSON.stringify({ account, orderId: 'import-known' }));
  const argv = ['order', 'import', textFile(rows.join('\n'), '.jsonl'), '--json'];
  const { exitCode, stdout } = await runHere(argv, env);
  const refused = [{ row: 1, error: expect.stringMatching(/do not know partne; did you mean partner\?/) }];
  expect(JSON.parse(stdout)).toMatchObject({ rows: 2, followed: 1, refused });
  expect(exitCode).toBe(1);
  const allowed = await runHere([...argv, '--unknown-account'], env);
  expect(JSON.parse(allowed.stdout)).toMatchObject({ followed: 2, new: 1, refused: [] });
  for (const account of ['partne', 'partner'])
    await stack.client.workflow.getHandle(`order/${account}/import-known`).terminate();
});

it('refuses a file that cannot be read on', async () => {
  const { exitCode, stderr } = await importOf(textFile('account,orderId\nbusiness,"12', '.csv'));
  expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringContaining('be read on from line 2') });
});

it('followMany of the typed client yields what became of each, in their order', async () => {
  const rides = createFaretrailClient({ client: stack.client, taskQueue: stack.config.taskQueue });
  const orders = newOrders(4);
  async function* inputs(): AsyncGenerator<FollowOrderInput> {
    for (const orderId of orders) yield { account: 'business', orderId };
    yield { account: 'business', orderId: 'a/b' };
  }
  const [first = ''] = orders;
  await rides.follow({ account: 'business', orderId: first });
  const ids: string[] = [];
  for await (const one of rides.followMany(inputs(), { perSecond: 500, atOnce: 3 }))
    ids.push('order' in one ? `${one.order.orderId} ${one.isNew}` : one.error.message);
  const followed = orders.map((orderId) => `${orderId} ${orderId !== first}`);
  expect(ids).toEqual([...followed, expect.stringContaining('orderId')]);
  expect(() => rides.followMany([], { perSecond: 0 })).toThrow(InvalidInput);
  expect(() => rides.followMany([], { atOnce: 0.5 })).toThrow(InvalidInput);
});

it('an interrupted import ends its requests under way, tells how far it came, and goes on from there', async () => {
  const orders = newOrders(40);
  const file = textFile(orders.map((orderId) => JSON.stringify({ account: 'business', orderId })).join('\n'), '.jsonl');
  const env = { TEMPORAL_ADDRESS: inject('temporalAddress'), FARETRAIL_TASK_QUEUE: stack.config.taskQueue };
  const argv = ['order', 'import', file, '--per-second', '40', '--json'];
  const interrupted = await runHere(argv, env, {
    onInterrupt(act) {
      setTimeout(act, 300);
      return () => undefined;
    },
  });
  expect(interrupted.exitCode).toBe(130);
  const { state, rows } = JSON.parse(interrupted.stdout);
  expect(state).toBe('interrupted');
  expect(rows).toBeGreaterThan(0);
  expect(rows).toBeLessThan(40);
  const rest = JSON.parse((await runHere([...argv, '--skip', String(rows)], env)).stdout);
  expect(rest).toMatchObject({ state: 'done', rows: 40 - rows, followed: 40 - rows });
  expect(await Promise.all(orders.map(requestsTo))).toEqual(orders.map(() => 0));
});

it('followMany begins no faster than it may', async () => {
  const rides = createFaretrailClient({ client: stack.client, taskQueue: stack.config.taskQueue });
  const begun = performance.now();
  const inputs = newOrders(11).map((orderId) => ({ account: 'business', orderId }));
  for await (const one of rides.followMany(inputs, { perSecond: 20 })) expect(one).toHaveProperty('order');
  expect(performance.now() - begun).toBeGreaterThan(490);
});

it('followMany holds no answer back until the next input comes', async () => {
  const rides = createFaretrailClient({ client: stack.client, taskQueue: stack.config.taskQueue });
  let answered = (): void => undefined;
  const isAnswered = new Promise<void>((resolve) => {
    answered = resolve;
  });
  const orders = newOrders(2);
  async function* inputs(): AsyncGenerator<FollowOrderInput> {
    for (const orderId of orders) {
      yield { account: 'business', orderId };
      await isAnswered;
    }
  }
  const ids: string[] = [];
  for await (const one of rides.followMany(inputs())) {
    answered();
    if ('order' in one) ids.push(one.order.orderId);
  }
  expect(ids).toEqual(orders);
});
