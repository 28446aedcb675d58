import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A connection that says exactly what it is told to, at the speed it is told to. */
export interface RawSender {
  socket: Socket;
  /** Resolves to all that was received once the other side has closed. */
  ended: Promise<string>;
  received(): string;
  isClosed(): boolean;
}

export async function openRaw(url: string): Promise<RawSender> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let text = '';
  let isClosed = false;
  const ended = new Promise<string>((resolve) => {
    socket.on('close', () => {
      isClosed = true;
      resolve(text);
    });
  });
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
  socket.on('error', () => {}); // a reset is one way in which the other side closes
  await once(socket, 'connect');
  return { socket, ended, received: () => text, isClosed: () => isClosed };
}

/** Sends one text and resolves to the answer once the other side has closed. */
export async function sendRaw(url: string, text: string | Uint8Array): Promise<string> {
  const { socket, ended } = await openRaw(url);
  socket.write(text);
  return await ended;
}
