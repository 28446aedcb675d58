/** One change for one URL. */
export interface NotifyInput {
  url: string;
  /** The same at every attempt, so that a receiver recognises what it has seen. Sent as the header `webhook-id`. */
  id: string;
  /** Sent as JSON. */
  event: object;
}

/** What became of one request. */
export type NotifyOutcome =
  | { kind: 'answered'; status: number; retryAfter: string | undefined }
  /** No answer; a short code of the network says why. */
  | { kind: 'unreachable'; code: string }
  | { kind: 'originNotAllowed' }
  | { kind: 'addressNotAllowed' }
  /** Too many requests of this process are under way; nothing was sent. */
  | { kind: 'busy' };
