import type { FaultInput } from '../../sandbox/faults.js';
import type { OperationName } from '../../sandbox/operations.js';

/** Nonsense answers of the service. None of them names a possible status of the order. */
export const strangeAnswers = {
  halfOfASurrogatePair: text('{"status":"Dri\\ud800ving"}'),
  controlCharacters: text('{"status":"a\\u0000b\\u001b[31m\\u202e"}'),
  nameTwice: text('{"status":"Driving","status":"Completed"}'),
  deep: text(`${'['.repeat(5_000)}${']'.repeat(5_000)}`),
  notANumber: text('{"status":NaN}'),
  byteOrderMark: text('\uFEFF{"id":"another"}'),
  page: text('<html>Welcome</html>'),
  notPackedAsItSays: text('{"status":"Driving"}', 200, { 'content-encoding': 'gzip' }),
  notFound: { kind: 'notFound' },
  pageNotFound: text('<html>Not Found</html>', 404),
  waitForADay: { kind: 'unavailable', retryAfterSeconds: 86_400 },
  doNotWait: { kind: 'tooManyRequests', retryAfterSeconds: 0 },
  waitForAWord: text('', 429, { 'retry-after': 'soon' }),
  noLifetime: { kind: 'tokenAnswer', without: ['expires_in'] },
  lifetimeInAWord: { kind: 'tokenAnswer', with: { expires_in: 'soon' } },
} satisfies Record<string, FaultInput>;

export type StrangeAnswer = keyof typeof strangeAnswers;

const isOfTokens = (name: StrangeAnswer): boolean => strangeAnswers[name].kind === 'tokenAnswer';
const names = Object.keys(strangeAnswers) as StrangeAnswer[];

/** The nonsense answers of each operation. Only operations that a worker may repeat. */
export const strangeAnswersOf: Partial<Record<OperationName, readonly StrangeAnswer[]>> = {
  orderDetails: names.filter((name) => !isOfTokens(name)),
  orderStatus: names.filter((name) => !isOfTokens(name)),
  partnerToken: names.filter((name) => !name.endsWith('otFound')),
  businessToken: names.filter((name) => !name.endsWith('otFound')),
};

function text(body: string, status = 200, headers: Record<string, string> = {}) {
  return { kind: 'reply', status, headers: { 'content-type': 'application/json', ...headers }, body } as const;
}
