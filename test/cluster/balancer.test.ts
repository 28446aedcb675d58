import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { startBalancer } from '../../cluster/balancer.js';

/** A server that answers each connection with its name and what it got. */
async function startNamed(name: string): Promise<{ port: number; server: Server }> {
  const server = createServer((socket) => socket.once('data', (data) => socket.end(`${name} got ${data}`)));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, server };
}

async function answerAt(address: string): Promise<string> {
  const socket = connect(Number(address.split(':')[1]), '127.0.0.1').setEncoding('utf8');
  socket.write('hello');
  let answer = '';
  for await (const text of socket) answer += text;
  return answer;
}

it('several servers have one address: connections go to each in turn, and past those that refuse them', async () => {
  const [one, two, gone] = [await startNamed('one'), await startNamed('two'), await startNamed('gone')];
  gone.server.close();
  const balancer = await startBalancer([one.port, gone.port, two.port]);
  onTestFinished(() => balancer.close());
  const answers = [];
  for (let i = 0; i < 6; i += 1) answers.push(await answerAt(balancer.address));
  expect(new Set(answers)).toEqual(new Set(['one got hello', 'two got hello']));
});

it('a connection ends when its server does, or when no server accepts it', async () => {
  const { port, server } = await startNamed('one');
  const balancer = await startBalancer([port]);
  onTestFinished(() => balancer.close());
  expect(await answerAt(balancer.address)).toBe('one got hello');
  server.close();
  expect(await answerAt(balancer.address)).toBe('');
});
