import type { Fault, FaultInput } from '../../../dev/sandbox/faults.js';

const onEffect = <K extends Fault['kind']>(kind: K) => [{ kind }, { kind, when: 'answer' }] as FaultInput[];
const onShapes = <K extends Fault['kind']>(kind: K) => [{ kind }, { kind, shape: 'envelope' }] as FaultInput[];

/** Every fault of the sandbox, in all its forms; a new kind does not compile until it has a row. */
export const faultForms: Record<Fault['kind'], readonly FaultInput[]> = {
  unauthorized: [{ kind: 'unauthorized' }],
  forbidden: [{ kind: 'forbidden' }],
  notFound: [{ kind: 'notFound' }],
  serverError: onEffect('serverError'),
  tooManyRequests: [
    { kind: 'tooManyRequests' },
    { kind: 'tooManyRequests', retryAfterSeconds: 1 },
    { kind: 'tooManyRequests', retryAfterSeconds: 2, retryAfterAs: 'date' },
  ],
  unavailable: onEffect('unavailable'),
  slow: [{ kind: 'slow', delayMs: 3_000 }],
  slowBody: [{ kind: 'slowBody', durationMs: 2_000 }],
  dropConnection: [...onEffect('dropConnection'), { kind: 'dropConnection', when: 'middle' }],
  malformedJson: [{ kind: 'malformedJson' }],
  hugeJson: [{ kind: 'hugeJson', bytes: 3_000_000 }],
  emptyBody: [{ kind: 'emptyBody' }],
  html: onEffect('html'),
  redirect: [{ kind: 'redirect' }],
  errorInSuccess: [{ kind: 'errorInSuccess' }],
  reply: [
    { kind: 'reply', status: 409, body: { status: 'error', error: { code: 'CONFLICT' } } },
    { kind: 'reply', status: 200, body: {}, when: 'answer' },
    { kind: 'reply', status: 202, body: [1], when: 'answer' },
    { kind: 'reply', status: 502, body: 'bad gateway', when: 'answer' },
  ],
  tokenAnswer: [
    { kind: 'tokenAnswer', without: ['access_token'] },
    { kind: 'tokenAnswer', without: ['token_type', 'scope', 'expires_in'] },
    { kind: 'tokenAnswer', with: { access_token: 'two words' } },
  ],
  subscriberAnswer: [], // no ride subscribes
  invalidClient: onShapes('invalidClient'),
  invalidScope: onShapes('invalidScope'),
  invalidGrant: onShapes('invalidGrant'),
};

const onlyOfTokens: readonly Fault['kind'][] = ['tokenAnswer', 'invalidClient', 'invalidScope', 'invalidGrant'];

/** Can this fault hit another call than a token request? */
export const hitsCalls = ({ kind }: FaultInput): boolean => !onlyOfTokens.includes(kind);
