import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { brokenRequest, type Problem } from './problem.js';

/** How long a sender may go on after our answer. */
const lingerMs = 1_000;
const contentType = 'application/problem+json; charset=utf-8';

/**
 * Answers a request whose body is not worth reading, and ends the connection: at once when the sender has finished, else
 * after a moment in which what it sends is thrown away. Closing under a sender that still writes would reset the
 * connection and lose it our answer (RFC 9112 section 9.6).
 */
export function answerAndHangUp(request: IncomingMessage, response: ServerResponse, { status, body }: Problem): void {
  response.writeHead(status, {
    'content-type': contentType,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  });
  response.write(body);
  const end = (): void => {
    clearTimeout(timer);
    response.end();
  };
  const timer = setTimeout(end, lingerMs);
  request.once('end', end).once('close', end).on('error', end).resume();
}

/** Answers what Node cannot read as a request, or will not wait for any longer. */
export function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const { status, body } = brokenRequest[toStatus(error.code)];
  const head = `HTTP/1.1 ${status} ${reasons[status as keyof typeof reasons]}\r\nContent-Type: ${contentType}\r\n`;
  socket.end(`${head}Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`);
  // No deadline of the server's is over this socket any more, and the sender need not close its side.
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once('close', () => clearTimeout(timer));
}

const reasons = { 400: 'Bad Request', 408: 'Request Timeout', 431: 'Request Header Fields Too Large' };

function toStatus(code: string | undefined): keyof typeof brokenRequest {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 408;
  return code === 'HPE_HEADER_OVERFLOW' ? 431 : 400;
}
