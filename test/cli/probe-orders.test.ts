import { afterAll, describe, expect, it } from 'vitest';
import { answerOf, closeServed, newFile, order, readProfile, serve } from './probing.js';

afterAll(closeServed);

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
