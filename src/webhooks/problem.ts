import type { DeliveryOutcome } from './ingress-events.js';

/** An answer that says no (RFC 9457). Texts are fixed: nothing of the request comes back. */
export interface Problem {
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

/** The answer to each outcome that is not a 202. `aborted` has nobody to answer. */
export const problems: Readonly<
  Record<Exclude<DeliveryOutcome, 'accepted' | 'parked' | 'unchecked' | 'test' | 'aborted'>, Problem>
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
export const brokenRequest = {
  400: problem(400, 'Bad Request', 'This is not an HTTP request that can be read.'),
  408: problem(408, 'Request Timeout', 'The request took too long.'),
  431: problem(431, 'Request Header Fields Too Large', 'The headers are too large.'),
} as const;
