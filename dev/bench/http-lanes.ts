import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** Open connections, each with one request at a time. */
export interface HttpLanes {
  /** Sends a whole request as soon as a lane is free. Gives the status of the answer; 0 if the connection broke. */
  send(request: string): Promise<number>;
  close(): void;
}

interface Lane {
  socket: Socket;
  received: string;
  answer: ((status: number) => void) | undefined;
}

/** Opens raw sockets. The generator shares its cores with the measured process, so it must be cheap. */
export async function openLanes(port: number, count: number): Promise<HttpLanes> {
  const free: Lane[] = [];
  const waiting: ((lane: Lane) => void)[] = [];
  const all = new Set<Lane>();

  function release(lane: Lane): void {
    const next = waiting.shift();
    if (next) next(lane);
    else free.push(lane);
  }

  async function open(): Promise<Lane> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    const lane: Lane = { socket, received: '', answer: undefined };
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => {
      lane.received += text;
      const status = wholeAnswer(lane.received);
      if (status === undefined) return;
      lane.received = '';
      lane.answer?.(status);
    });
    socket.on('error', () => undefined); // `close` follows
    socket.on('close', () => {
      all.delete(lane);
      lane.answer?.(0);
    });
    await once(socket, 'connect');
    all.add(lane);
    return lane;
  }

  const exchange = (lane: Lane, request: string): Promise<number> =>
    new Promise((resolve) => {
      lane.answer = (status) => {
        lane.answer = undefined;
        if (status !== 0) release(lane);
        else open().then(release, () => undefined);
        resolve(status);
      };
      lane.socket.write(request, 'latin1');
    });

  for (let opened = 0; opened < count; opened += 1) free.push(await open());
  return {
    async send(request) {
      let lane = free.pop() ?? (await new Promise<Lane>((resolve) => waiting.push(resolve)));
      if (lane.socket.destroyed) lane = await open(); // the server closed it while it was idle
      return await exchange(lane, request);
    },
    close() {
      for (const { socket } of all) socket.destroy();
    },
  };
}

/** The status, once head and body have come. The measured servers always send a length. */
function wholeAnswer(text: string): number | undefined {
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const [, length = '0'] = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, headEnd)) ?? [];
  return text.length >= headEnd + 4 + Number(length) ? Number(text.slice(9, 12)) : undefined;
}
