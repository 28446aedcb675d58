import { afterAll, describe, expect, it } from 'vitest';
import { answerOf, closeServed, newFile, order, readProfile, serve } from './probing.js';

afterAll(closeServed);

describe.concurrent('an assumed path that is wrong', () => {
  it('is found by its order among a few others, slowly and with GET alone, and each try is shown', async () => {
    const { sandbox, probe } = await serve({ otherAnswers: { orderDetails: { url: '/v2/rides/:orderId' } } });
    const file = newFile();
    const { stdout, exitCode } = await probe('business', order, '--write', file);
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^ +tried GET \/v1\/orders\/\{order_id\}\/status\?businessId=\{business_id\}: 404$/m);
    expect(readProfile(file).operations.orderDetails).toMatchObject({
      path: '/v2/rides/{order_id}?businessId={business_id}',
      source: 'verified',
    });
    const tries = sandbox.ledger().filter(({ path }) => path.endsWith(order) || path.includes(`${order}/`));
    expect(tries.every(({ method }) => method === 'GET')).toBe(true);
    expect(tries.length).toBeLessThanOrEqual(65);
    const times = sandbox.ledger().map(({ at }) => Date.parse(at));
    expect(Math.min(...times.slice(1).map((at, index) => at - (times[index] ?? 0)))).toBeGreaterThan(200);
  });

  it('is never taken for that of another order', async () => {
    const other = { url: '/v2/orders/:orderId', names: { id: 'order' }, beside: { id: 'another' } };
    const { probe } = await serve({ otherAnswers: { orderDetails: { ...other, under: ['ride'] } } });
    const [found] = answerOf(await probe('business', order, '--json')).findings.filter(({ tried }) => tried);
    expect(found?.changes).toContainEqual({
      kind: 'pointer',
      operation: 'orderDetails',
      value: 'orderId',
      pointer: '/ride/order',
    });
    const { probe: askStranger } = await serve({
      otherAnswers: { orderDetails: { url: '/v2/orders/:orderId', names: { id: 'x' }, beside: { x: 'another' } } },
    });
    const [lost] = answerOf(await askStranger('business', order, '--json')).findings.filter(({ tried }) => tried);
    expect(lost).toMatchObject({ verdict: 'wrong', changes: [] });
    expect(lost?.remarks.join('\n')).toMatch(
      /tried: none is surely.*\nGET \/v2\/orders\/.* answers, too: a person must decide/,
    );
  });

  it('is not looked for where it is given', async () => {
    const { sandbox, probe } = await serve({ otherAnswers: { orderStatus: { url: '/v2/rides/:orderId' } } });
    await probe('partner', order);
    expect(sandbox.ledger().filter(({ operation }) => operation !== 'partnerToken')).toHaveLength(2);
  });
});

describe.concurrent('orders whose end the operator knows', () => {
  const words = { Driving: 'unterwegs', Completed: 'erledigt', Cancelled: 'storniert', Rejected: 'abgelehnt' };

  async function probeEnded(own: Record<string, string>) {
    const { sandbox, probe } = await serve({ otherAnswers: { orderDetails: { words: own } } });
    for (const status of ['Completed', 'Cancelled', 'Rejected'])
      sandbox.addOrder({ interface: 'business', orderId: `o-${status}`, script: [{ status, afterMs: 0 }] });
    const file = newFile();
    const ended = ['--completed', 'o-Completed', '--cancelled', 'o-Cancelled', '--rejected', 'o-Rejected'];
    const run = await probe('business', order, ...ended, '--json', '--write', file);
    return {
      remarks: answerOf(run).findings.flatMap((one) => one.remarks),
      endWords: readProfile(file).statuses.endWords,
    };
  }

  it("teach the profile the service's words for the three ends, and no other word", async () => {
    const { endWords } = await probeEnded(words);
    expect(endWords).toEqual({ erledigt: 'Completed', storniert: 'Cancelled', abgelehnt: 'Rejected' });
  });

  it('teach nothing where they share one word, and a person is asked', async () => {
    const { endWords, remarks } = await probeEnded({ ...words, Completed: 'closed', Cancelled: 'closed' });
    expect(endWords).toEqual({ abgelehnt: 'Rejected' });
    expect(remarks).toContain(
      'the word at /status is also that of another order: for statuses.endWords a person must decide',
    );
  });

  it('teach no known word another meaning', async () => {
    const { endWords, remarks } = await probeEnded({ ...words, Completed: 'Waiting' });
    expect(endWords).not.toHaveProperty('Waiting');
    expect(remarks.join('\n')).toContain('is our status Waiting, and the order is said to be Completed');
  });

  it('are named once each', async () => {
    const { probe } = await serve();
    const run = await probe('business', order, '--completed', order);
    expect(run).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('each order may be named once') });
  });
});
