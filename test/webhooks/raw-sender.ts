import { once } from 'node:events';
import { connect } from 'node:net';

export type RawSender = Awaited<ReturnType<typeof openRaw>>;

/** A connection that says exactly what the test writes, at the speed at which the test writes it. */
export async function openRaw(url: string, options: { allowHalfOpen?: boolean } = {}) {
  const { hostname, port } = new URL(url);
  const socket = connect({ port: Number(port), host: hostname, ...options });
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
  socket.on('error', () => {}); // a reset is one way in which the other side closes
  /** Resolves to all that was received once the other side has closed. */
  const ended = new Promise<string>((resolve) => socket.on('close', () => resolve(text)));
  await once(socket, 'connect');
  return { socket, ended, received: () => text };
}

/** Sends one text and resolves to the answer once the other side has closed. */
export async function sendRaw(url: string, text: string): Promise<string> {
  const { socket, ended } = await openRaw(url);
  socket.write(text);
  return await ended;
}
