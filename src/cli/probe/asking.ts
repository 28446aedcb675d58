import { setTimeout as wait } from 'node:timers/promises';
import { type BodyShape, bodyShape } from '../../contracts/body-shape.js';
import type { ContractProfile, Operation, OperationName } from '../../contracts/contract-profile.js';
import { interfaceTerms } from '../../contracts/interface-terms.js';
import { ownValue } from '../../contracts/json.js';
import type { Account } from '../../domain/account.js';
import { FaretrailError } from '../../domain/errors.js';
import { type OrderId, type Scope, toScope } from '../../domain/keys.js';
import { RideApiError, RideApiGarbled, RideApiUnreachable } from '../../ride-api/errors.js';
import type { ApiReply, ApiRequest, Http } from '../../ride-api/http.js';
import { operationRequest } from '../../ride-api/operation-request.js';
import { defaultMaxWaitMs } from '../../ride-api/retry-decision.js';
import { interpretTokenReply, tokenRequest } from '../../ride-api/token.js';
import { type Change, changed, type Judgement } from './judging.js';

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
  /** The HTTP status; null where none was readable. */
  status: number | null;
  /** Names of the headers that say something about limits, ids of requests and versions. */
  headerNames: string[];
  /** Null where there was no body that can be read. */
  body: BodyShape | null;
}

const tellingHeader =
  /^(?=[a-z0-9-]{1,60}$).*(rate-?limit|retry-after|quota|throttl|request-id|correlation|trace|version|sunset|allow$)/;

function cameOf({ status, headerNames = [], body }: ApiReply): Came {
  const shown = headerNames.filter((name) => tellingHeader.test(name)).sort();
  return { status, headerNames: shown.slice(0, 20), body: body === undefined ? null : bodyShape(body) };
}

type Answer = { reply: ApiReply } | { failed: Judgement };

/** A probe under way. */
export interface Talk {
  account: Account;
  /** The profile in force, with what the answers have changed so far. */
  profile: ContractProfile;
  tokens: Map<Scope, string>;
  /** Sends a request when its turn has come. `toCheck`: what may be wrong where the answer cannot be read. */
  send(request: ApiRequest, toCheck: string): Promise<Answer>;
}

/** Begins a probe. */
export const openTalk = ({ account, profile }: Pick<Talk, 'account' | 'profile'>, http: Http): Talk => ({
  ...{ account, profile, tokens: new Map(), send: createSend(account, http) },
});

/** Puts the changes of a finding into the profile of the probe. Gives the finding as it may be shown. */
export function learn(talk: Talk, finding: Finding): Finding {
  const day = new Date().toISOString().slice(0, 10);
  const fold = (before: ContractProfile, change: Change): ContractProfile => changed(before, change, day);
  talk.profile = finding.changes.reduce(fold, talk.profile);
  return withoutSecrets(finding, [talk.account.clientSecret, ...talk.tokens.values()]);
}

/** A few requests a second, and never more than the account may send. */
const shortestPauseMs = 250;

/** Sends with a pause between two requests. After a rate limit or a failed connection it sends nothing more. */
function createSend(account: Account, http: Http): Talk['send'] {
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
export async function* askTokens(talk: Talk, operations: readonly Operation[]): AsyncGenerator<Finding> {
  for (const scope of new Set(operations.map((operation) => toScope(operation.scope)))) {
    const { finding, accessToken } = await askToken(talk, scope);
    if (accessToken !== undefined) talk.tokens.set(scope, accessToken);
    yield learn(talk, finding);
  }
}

async function askToken(talk: Talk, scope: Scope): Promise<{ finding: Finding; accessToken?: string }> {
  const { account, profile } = talk;
  const { tokenPath, tokenEncoding } = interfaceTerms[account.interface];
  const base = {
    asks: scope === '' ? 'token without scope' : `token for scope ${scope}`,
    expected: {
      ...{ method: 'POST', path: `${tokenPath} (${tokenEncoding(profile)})`, scope },
      ...{ success: [200], source: 'given' as const },
    },
  };
  const answer = await talk.send(tokenRequest(account, scope, profile), 'the base URL');
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
export interface Question {
  asks: string;
  operation: OperationName;
  orderId?: OrderId;
  /** What the profile expects besides the request. */
  expected?: Partial<Pick<Expected, 'success' | 'pointers'>>;
  /** Why it cannot be asked. */
  obstacle?: string;
  judge(reply: ApiReply): Judgement;
}

/** Calls an operation as the profile has it. `reply` is null where none can be read. */
export async function askOperation(
  talk: Talk,
  question: Question,
): Promise<{ finding: Finding; reply: ApiReply | null }> {
  const { account, profile } = talk;
  const { asks, operation, orderId, judge } = question;
  const { method, path, scope, success, source } = profile.operations[operation];
  const base = { asks, expected: { method, path, scope, success, source, ...question.expected } };
  const accessToken = talk.tokens.get(toScope(scope));
  const obstacle = question.obstacle ?? obstacleOf(method, accessToken);
  if (obstacle !== undefined || accessToken === undefined) {
    const finding: Finding = { ...base, came: null, verdict: 'open', remarks: [obstacle ?? ''], changes: [] };
    return { finding, reply: null };
  }
  const values = orderId === undefined ? {} : { order_id: orderId };
  const request = operationRequest(account, { operation, values, accessToken }, profile);
  const answer = await talk.send(request, `operations.${operation}.path and the base URL`);
  if ('failed' in answer) return { finding: { ...base, came: null, ...answer.failed }, reply: null };
  const { reply } = answer;
  return { finding: { ...base, came: cameOf(reply), ...judge(reply) }, reply };
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
