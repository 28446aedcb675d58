import { Webhook } from 'standardwebhooks';
import { expect, it } from 'vitest';
import { createNotifySender } from '../../src/notify-http/sender.js';
import { serve, textOf } from '../ride-api/loopback-server.js';
import { runHere } from './fake-process.js';

const key = (byte: number): Buffer => Buffer.alloc(32, byte);
const env = { FARETRAIL_NOTIFY_SECRETS: `n2:${key(2).toString('base64url')},n1:${key(1).toString('base64url')}` };

it('a receiver verifies notices with the secrets that `notice secret` shows for its origin, and with no others', async () => {
  const kept: { headers: Record<string, string>; body: string }[] = [];
  const origin = await serve(async (request, response) => {
    kept.push({ headers: request.headers as Record<string, string>, body: await textOf(request) });
    response.writeHead(204).end();
  });
  const sender = createNotifySender({ origins: [origin], secrets: [key(1)], allowsPrivate: true });
  await sender.send({ url: `${origin}/hook`, id: 'msg_1', event: { type: 'order.changed' }, at: Date.now() });
  await sender.close();
  const [{ headers, body } = { headers: {}, body: '' }] = kept;
  const shownFor = async (at: string): Promise<string[]> =>
    (await runHere(['notice', 'secret', at], { ...env, FARETRAIL_NOTIFY_ORIGINS: 'https://b.example' })).stdout
      .trim()
      .split('\n');
  const [next = '', current = ''] = await shownFor(origin);
  expect(new Webhook(current).verify(body, headers)).toEqual({ type: 'order.changed' });
  for (const other of [next, ...(await shownFor('https://b.example'))]) {
    expect(() => new Webhook(other).verify(body, headers)).toThrow();
  }
});

it('`notice secret` says when workers send nothing there, and what is missing or wrong', async () => {
  const { exitCode, stderr } = await runHere(['notice', 'secret', 'https://a.example'], env);
  expect([exitCode, stderr]).toEqual([0, expect.stringContaining('until FARETRAIL_NOTIFY_ORIGINS names it')]);
  const none = await runHere(['notice', 'secret', 'https://a.example'], {});
  expect([none.exitCode, none.stderr]).toEqual([2, expect.stringContaining('FARETRAIL_NOTIFY_SECRETS: missing')]);
  const path = await runHere(['notice', 'secret', 'https://a.example/hook'], env);
  expect([path.exitCode, path.stderr]).toEqual([2, expect.stringContaining('origin: must be an https origin')]);
});
