import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { IntakeOutcome } from './ingress-observer.js';

/** An answer that says no (RFC 9457). Texts are fixed: nothing of the request comes back. */
interface Problem {
  status: number;
  body: string;
  /** Seconds, for the header `Retry-After`. */
  retryAfter?: number;
}

const problem = (status: number, title: string, detail: string, retryAfter?: number): Problem => ({
  status,
  body: JSON.stringify({ type: 'about:blank', title, status, detail }),
  ...(retryAfter !== undefined && { retryAfter }),
});

const refused = problem(401, 'Unauthorized', 'This delivery could not be verified, or its subscription has ended.');
const notNow = (retryAfter: number): Problem =>
  problem(503, 'Service Unavailable', 'The delivery was not taken. Send it again later.', retryAfter);

/** The answer to each outcome that is not a 202. `aborted` has none: the sender has gone. */
export const problems: Readonly<
  Record<Exclude<IntakeOutcome, 'accepted' | 'parked' | 'unchecked' | 'test' | 'aborted'>, Problem>
> = {
  notFound: problem(404, 'Not Found', 'There is nothing here.'),
  tooLarge: problem(413, 'Content Too Large', 'The body of a delivery has at most 262144 bytes.'),
  encoded: problem(415, 'Unsupported Media Type', 'The body of a delivery must not be compressed.'),
  notJson: problem(400, 'Bad Request', 'The body of a delivery must be a JSON object in UTF-8.'),
  wrongSecret: refused,
  ended: refused,
  neverSubscribed: refused,
  noSecretYet: notNow(5),
  journalFull: notNow(30),
  journalUnwritable: notNow(30),
  unavailable: notNow(5),
  failed: problem(500, 'Internal Server Error', 'The delivery was not taken.'),
};

/** Answers below HTTP's routing, where only the socket is left. */
const brokenRequest = {
  400: problem(400, 'Bad Request', 'This is not an HTTP request that can be read.'),
  408: problem(408, 'Request Timeout', 'The request took too long.'),
  431: problem(431, 'Request Header Fields Too Large', 'The headers are too large.'),
} as const;

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
