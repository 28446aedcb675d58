import type { Socket } from 'node:net';
import { buildConnector } from 'undici';

const statusLength = 'HTTP/1.1 100'.length;
const interimStatus = /^HTTP\/1\.\d 1\d\d$/;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/**
 * Connections on which a 100 is passed over that the request did not ask for, as every client must do (RFC 9110 section 15.2). undici
 * passes over 102 and 103, and ends the connection over a 100: so it gets to see 102, which asks for nothing either.
 */
export function connectPastInterimAnswers(options: buildConnector.BuildOptions): buildConnector.connector {
  const connect = buildConnector(options);
  return (target, done) =>
    connect(target, (...made) => {
      if (made[0] === null) renumberContinue(made[1]);
      done(...made);
    });
}

function renumberContinue(socket: Socket): void {
  const read = socket.read.bind(socket);
  const write = socket.write.bind(socket) as (...parts: unknown[]) => boolean;
  let heads = createHeadReader();
  socket.read = (size?: number): unknown => {
    const chunk: unknown = read(size);
    if (chunk instanceof Uint8Array) heads.take(chunk);
    return chunk;
  };
  // One exchange at a time: what is written after the last head begins the next one.
  socket.write = ((...parts: unknown[]): boolean => {
    if (heads.isAtBody()) heads = createHeadReader();
    return write(...parts);
  }) as Socket['write'];
}

/** Goes through the heads of one answer, however they are cut into chunks, and makes each 100 a 102 in place. */
function createHeadReader() {
  let place: 'status' | 'fields' | 'body' = 'status';
  let status = '';
  let isLineEmpty = false;

  function takeStatus(chunk: Uint8Array, index: number, byte: number): void {
    status += String.fromCharCode(byte);
    if (status.length < statusLength) return;
    place = interimStatus.test(status) ? 'fields' : 'body';
    if (place === 'fields' && status.endsWith('100')) chunk[index] = 0x32; // "2"
    status = '';
    isLineEmpty = false;
  }

  function takeField(byte: number): void {
    if (byte === lineFeed && isLineEmpty) place = 'status';
    else if (byte !== carriageReturn) isLineEmpty = byte === lineFeed;
  }

  return {
    take(chunk: Uint8Array): void {
      for (let index = 0; index < chunk.length && place !== 'body'; index += 1) {
        const byte = chunk[index] ?? 0;
        if (place === 'status') takeStatus(chunk, index, byte);
        else takeField(byte);
      }
    },
    /** Has the head of the answer itself passed by, or what is none? */
    isAtBody: (): boolean => place === 'body',
  };
}
