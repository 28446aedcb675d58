import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** A refusal (RFC 9457). Its texts are fixed and repeat nothing of the request. */
export interface Problem {
  status: number;
  title: string;
  body: string;
  /** Seconds, for the header `Retry-After`. */
  retryAfter?: number;
}

const problem = (status: number, title: string, detail: string, retryAfter?: number): Problem => ({
  ...{ status, title },
  body: JSON.stringify({ type: 'about:blank', title, status, detail }),
  ...(retryAfter !== undefined && { retryAfter }),
});

const refused = problem(401, 'Unauthorized', 'This delivery could not be verified, or its subscription has ended.');
const notNow = (retryAfter: number): Problem =>
  problem(503, 'Service Unavailable', 'The delivery was not taken. Send it again later.', retryAfter);

/** The refusals of deliveries, by the name that labels a metric. */
export const problems = {
  /** Not one of our addresses. Its account and event type are no labels, since any sender can invent them. */
  notFound: problem(404, 'Not Found', 'There is nothing here.'),
  tooLarge: problem(413, 'Content Too Large', 'The body is larger than that of a delivery may be.'),
  /** A body that unpacks to more. Its sender may mean harm. */
  tooLargeUnpacked: problem(413, 'Content Too Large', 'The unpacked body is larger than that of a delivery may be.'),
  tooMany: problem(429, 'Too Many Requests', 'This address sends too many deliveries. Send it again later.', 10),
  /** Too many deliveries of the account wait, mostly until their orders may start. */
  tooManyNew: problem(429, 'Too Many Requests', 'Too many orders are new. Send it again later.', 10),
  /** Too many parked deliveries of the account wait for a person. */
  tooManyParked: problem(429, 'Too Many Requests', 'Too many deliveries wait to be placed. Send it again later.', 600),
  encoded: problem(
    415,
    'Unsupported Media Type',
    'The body of a delivery may be compressed once: by gzip, deflate or br.',
  ),
  notUnpackable: problem(400, 'Bad Request', 'The body of a delivery is not compressed as its Content-Encoding says.'),
  notJson: problem(400, 'Bad Request', 'The body of a delivery must be JSON in UTF-8.'),
  wrongSecret: refused,
  /** The subscription has ended, or the grace of this address is over. */
  ended: refused,
  neverSubscribed: refused,
  /** The ingress does not know the secret yet. */
  noSecretYet: notNow(5),
  journalFull: notNow(10),
  journalUnwritable: notNow(30),
  /** The ingress could not store it for another reason. */
  unavailable: notNow(5),
  /** Our fault. */
  failed: problem(500, 'Internal Server Error', 'The delivery was not taken.'),
} as const;

/** The outcomes with a 2xx. Those with 202 are durable, all but `test` and `employee`, with which the ingress does nothing else. `parked`: a
 *  person must place it.
 *  `unchecked`: admitted by its address alone, and checked before the ingress forwards it. `look`: a GET or HEAD
 *  of a service that tries an address. */
const taken = { accepted: 202, parked: 202, unchecked: 202, test: 202, employee: 202, look: 200 } as const;

/** How a request to a delivery address can end. `aborted`: without an answer, since the sender went away or took too long. */
export type IntakeOutcome = keyof typeof taken | keyof typeof problems | 'aborted';

/** Did the sender get another answer than a 2xx, or none? */
export const isRefused = (outcome: IntakeOutcome): boolean => !(outcome in taken);

/** The status of the answer to an outcome. */
export function statusOf(outcome: IntakeOutcome): number {
  const statuses: Partial<Record<IntakeOutcome, number>> = taken;
  return outcome in problems ? problems[outcome as keyof typeof problems].status : (statuses[outcome] ?? 202);
}

/** Answers to what Node cannot read as a request: there is a socket, but no response. */
export const brokenRequests = {
  400: problem(400, 'Bad Request', 'This is not an HTTP request that can be read.'),
  408: problem(408, 'Request Timeout', 'The request took too long.'),
  431: problem(431, 'Request Header Fields Too Large', 'The headers are too large.'),
} as const;

/** How long a sender may go on after our answer. */
const lingerMs = 1_000;
/** The content type of every refusal. */
export const contentType = 'application/problem+json; charset=utf-8';

/**
 * Answers a request without reading its body, and ends the connection: at once if the sender has finished, otherwise after a
 * moment. It discards what the sender sends meanwhile. Closing at once would reset the connection, and the sender would lose
 * the answer (RFC 9112 section 9.6).
 */
export function answerAndHangUp(request: IncomingMessage, response: ServerResponse, answer: Problem): void {
  const { status, body, retryAfter } = answer;
  if (retryAfter !== undefined) response.setHeader('retry-after', retryAfter);
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

/** Answers what Node cannot read as a request, and a request that takes too long. */
export function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const { status, title, body } = brokenRequests[toStatus(error.code)];
  const head = `HTTP/1.1 ${status} ${title}\r\nContent-Type: ${contentType}\r\n`;
  socket.end(`${head}Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`);
  // The deadlines of the server no longer apply to this socket, and the sender may leave its side open.
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once('close', () => clearTimeout(timer));
}

function toStatus(code: string | undefined): keyof typeof brokenRequests {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 408;
  return code === 'HPE_HEADER_OVERFLOW' ? 431 : 400;
}
