import { setTimeout as wait } from 'node:timers/promises';
import { type BodyShape, bodyShape } from '../../contracts/body-shape.js';
import type { ContractProfile, Operation, OperationName } from '../../contracts/contract-profile.js';
import { interfaceTerms } from '../../contracts/interface-terms.js';
import { ownValue } from '../../contracts/json.js';
import type { Account } from '../../domain/account.js';
import { FaretrailError } from '../../domain/errors.js';
import { type OrderId, type Scope, toOrderId, toScope } from '../../domain/keys.js';
import { RideApiError, RideApiGarbled, RideApiUnreachable } from '../../ride-api/errors.js';
import type { ApiReply, ApiRequest, Http } from '../../ride-api/http.js';
import { operationRequest } from '../../ride-api/operation-request.js';
import { defaultMaxWaitMs } from '../../ride-api/refusal.js';
import { interpretTokenReply, tokenRequest } from '../../ride-api/token.js';
import {
  type Change,
  changed,
  type Judgement,
  judgeObject,
  judgeOrder,
  judgeUnknownOrder,
  type OrderRead,
} from './judging.js';

/** What the profile expects of one request. */
export interface Expected {
  method: string;
  path: string;
  scope: string;
  /** The HTTP statuses that fit. */
  success: readonly number[];
  source: Operation['source'];
  pointers?: { status: readonly string[]; orderId: readonly string[] };
}

/** One question to the service, what the profile expects, what came, and what that says. */
export interface Finding extends Judgement {
  asks: string;
  expected: Expected;
  /** Null where the question was not asked, or no answer came. */
  came: Came | null;
}

/** An answer as the probe shows it: never a value of the body. */
interface Came {
  /** The HTTP status. */
  status: number;
  /** Null where there was no body that can be read. */
  body: BodyShape | null;
}

const cameOf = ({ status, body }: ApiReply): Came => ({ status, body: body === undefined ? null : bodyShape(body) });

type Answer = { reply: ApiReply } | { failed: Judgement };

/** A probe under way. */
export interface Probe {
  account: Account;
  /** The profile in force, with what the answers have changed so far. */
  profile: ContractProfile;
  tokens: Map<Scope, string>;
  /** Sends a request when its turn has come. `toCheck`: what may be wrong where the answer cannot be read. */
  send(request: ApiRequest, toCheck: string): Promise<Answer>;
}

/** Begins a probe. */
export const openProbe = ({ account, profile }: Pick<Probe, 'account' | 'profile'>, http: Http): Probe => ({
  ...{ account, profile, tokens: new Map(), send: createSend(account, http) },
});

/** No service gives this id to an order: the nil UUID of RFC 9562 section 5.9. */
const impossibleOrderId = toOrderId('00000000-0000-0000-0000-000000000000');

/** Asks every question, one after the other, and gives each finding as it comes. Reads only: the only POST asks for a token. */
export async function* askAll(probe: Probe, orderId: OrderId | undefined): AsyncGenerator<Finding> {
  const { account, profile } = probe;
  const order: OrderRead = interfaceTerms[account.interface].readOperation;
  const isOffered = ({ interface: at, enabled }: Operation): boolean => enabled !== false && at === account.interface;
  yield* askTokens(probe, Object.values(profile.operations).filter(isOffered));
  const aboutOrder = orderId === undefined ? { obstacle: 'not asked: give the id of an order' } : { orderId };
  const questions: Question[] = [
    {
      ...{ asks: order, operation: order, ...aboutOrder },
      expected: { pointers: profile.pointers[order] },
      judge: (reply) => judgeOrder(reply, { operation: order, orderId: orderId ?? impossibleOrderId, profile }),
    },
    {
      ...{ asks: `${order} of an id that cannot exist`, operation: order, orderId: impossibleOrderId },
      expected: { success: [404] },
      judge: (reply) => judgeUnknownOrder(reply, order),
    },
    ...(['companySettings', 'orderReceipt'] as const).map((operation) => ({
      ...{ asks: operation, operation, ...(operation === 'orderReceipt' ? aboutOrder : {}) },
      judge: (reply: ApiReply) => judgeObject(reply, operation, profile),
    })),
  ];
  for (const question of questions) {
    if (isOffered(profile.operations[question.operation])) yield learn(probe, await askOperation(probe, question));
  }
}

/** Puts the changes of a finding into the profile of the probe. Gives the finding as it may be shown. */
function learn(probe: Probe, finding: Finding): Finding {
  const day = new Date().toISOString().slice(0, 10);
  const fold = (before: ContractProfile, change: Change): ContractProfile => changed(before, change, day);
  probe.profile = finding.changes.reduce(fold, probe.profile);
  return withoutSecrets(finding, [probe.account.clientSecret, ...probe.tokens.values()]);
}

/** A few requests a second, and never more than the account may send. */
const shortestPauseMs = 250;

/** Sends with a pause between two requests. After a rate limit or a failed connection it sends nothing more. */
function createSend(account: Account, http: Http): Probe['send'] {
  const pauseMs = Math.max(shortestPauseMs, 1_000 / account.requestsPerSecond);
  let isFirst = true;
  let isOver = false;
  return async (request, toCheck) => {
    if (isOver) return unanswered('not asked, since the service gave no answer before');
    if (!isFirst) await wait(pauseMs);
    isFirst = false;
    try {
      const reply = await http.send(request);
      isOver = reply.status === 429;
      return { reply };
    } catch (error) {
      if (error instanceof RideApiGarbled)
        return { failed: { verdict: 'wrong', remarks: [`${error.message}: check ${toCheck}`], changes: [] } };
      if (!(error instanceof RideApiUnreachable)) throw error;
      isOver = true;
      return unanswered(error.message);
    }
  };
}

const unanswered = (remark: string): Answer => ({ failed: { verdict: 'unanswered', remarks: [remark], changes: [] } });

/** Asks for a token of each scope that these operations need. */
async function* askTokens(probe: Probe, operations: readonly Operation[]): AsyncGenerator<Finding> {
  for (const scope of new Set(operations.map((operation) => toScope(operation.scope)))) {
    const { finding, accessToken } = await askToken(probe, scope);
    if (accessToken !== undefined) probe.tokens.set(scope, accessToken);
    yield learn(probe, finding);
  }
}

async function askToken(probe: Probe, scope: Scope): Promise<{ finding: Finding; accessToken?: string }> {
  const { account, profile } = probe;
  const { tokenPath, tokenEncoding } = interfaceTerms[account.interface];
  const base = {
    asks: scope === '' ? 'token without scope' : `token for scope ${scope}`,
    expected: {
      ...{ method: 'POST', path: `${tokenPath} (${tokenEncoding(profile)})`, scope },
      ...{ success: [200], source: 'given' as const },
    },
  };
  const answer = await probe.send(tokenRequest(account, scope, profile), 'the base URL');
  if ('failed' in answer) return { finding: { ...base, came: null, ...answer.failed } };
  const { reply } = answer;
  const came = cameOf(reply);
  try {
    const context = { account, scope, profile, now: Date.now(), maxWaitMs: defaultMaxWaitMs };
    const { accessToken, lifetimeMs } = interpretTokenReply(reply, context);
    return { finding: { ...base, came, ...judgeLifetime(reply.body, lifetimeMs) }, accessToken };
  } catch (error) {
    if (!(error instanceof FaretrailError)) throw error;
    const verdict = error instanceof RideApiError && error.retryable ? 'unanswered' : 'wrong';
    return { finding: { ...base, came, verdict, remarks: [error.message], changes: [] } };
  }
}

function judgeLifetime(body: unknown, lifetimeMs: number): Judgement {
  return ['number', 'string'].includes(typeof ownValue(body, 'expires_in'))
    ? { verdict: 'fits', remarks: [`the token serves for ${lifetimeMs / 1_000} s`], changes: [] }
    : { verdict: 'open', remarks: ['the answer names no lifetime: tokens.fallbackLifetimeMs holds'], changes: [] };
}

/** One call of an operation of the profile. */
interface Question {
  asks: string;
  operation: OperationName;
  orderId?: OrderId;
  /** What the profile expects besides the request. */
  expected?: Partial<Pick<Expected, 'success' | 'pointers'>>;
  /** Why it cannot be asked. */
  obstacle?: string;
  judge(reply: ApiReply): Judgement;
}

/** Calls an operation as the profile has it. */
async function askOperation(probe: Probe, question: Question): Promise<Finding> {
  const { account, profile } = probe;
  const { asks, operation, orderId, judge } = question;
  const { method, path, scope, success, source } = profile.operations[operation];
  const base = { asks, expected: { method, path, scope, success, source, ...question.expected } };
  const accessToken = probe.tokens.get(toScope(scope));
  const obstacle = question.obstacle ?? obstacleOf(method, accessToken);
  if (obstacle !== undefined || accessToken === undefined)
    return { ...base, came: null, verdict: 'open', remarks: [obstacle ?? ''], changes: [] };
  const values = orderId === undefined ? {} : { order_id: orderId };
  const request = operationRequest(account, { operation, values, accessToken }, profile);
  const answer = await probe.send(request, `operations.${operation}.path and the base URL`);
  if ('failed' in answer) return { ...base, came: null, ...answer.failed };
  return { ...base, came: cameOf(answer.reply), ...judge(answer.reply) };
}

function obstacleOf(method: string, accessToken: string | undefined): string | undefined {
  if (method !== 'GET') return `not asked: a ${method} may change something`;
  return accessToken === undefined ? 'not asked: there is no token for it' : undefined;
}

const hidden = '[secret]';
const shortestSecret = 8;
/** Shorter parts of a secret may be ordinary words. */
const tellingPart = /[\w.~+/=-]{12,}/g;

/** A copy in which no text and no name holds one of the secrets: a service may repeat what it was sent. */
function withoutSecrets<T>(shown: T, secrets: readonly string[]): T {
  const whole = secrets.filter((secret) => secret.length >= shortestSecret);
  const clean = (text: string): string =>
    whole
      .reduce((rest, secret) => rest.replaceAll(secret, hidden), text)
      .replaceAll(tellingPart, (part) => (whole.some((secret) => secret.includes(part)) ? hidden : part));
  const copy = (value: unknown): unknown => {
    if (typeof value === 'string') return clean(value);
    if (Array.isArray(value)) return value.map(copy);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [clean(name), copy(one)]));
  };
  return copy(shown) as T;
}
