import { setTimeout as wait } from 'node:timers/promises';
import type { ContractProfile, Operation, OperationName } from '../../contracts/contract-profile.js';
import { interfaceTerms } from '../../contracts/interface-terms.js';
import { ownValue } from '../../contracts/json.js';
import type { Account } from '../../domain/account.js';
import { FaretrailError } from '../../domain/errors.js';
import { shownText } from '../../domain/json.js';
import { type OrderId, type Scope, toScope } from '../../domain/keys.js';
import { RideApiError, RideApiGarbled, RideApiUnreachable } from '../../ride-api/errors.js';
import type { ApiReply, ApiRequest, Http } from '../../ride-api/http.js';
import { operationRequest } from '../../ride-api/operation-request.js';
import { defaultMaxWaitMs } from '../../ride-api/retry-decision.js';
import { interpretTokenReply, tokenRequest } from '../../ride-api/token.js';
import { type Came, cameOf, withoutSecrets } from './came.js';
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
  /** Of a token: its form, its lifetime, the spelling of its type and the granted scope; never the token. */
  token?: TokenFacts;
}

interface TokenFacts {
  form: string;
  expiresIn: string;
  tokenType: string;
  grantedScope: string;
}

type Answer = { reply: ApiReply } | { failed: Judgement };

/** A probe under way. */
export interface Talk {
  account: Account;
  /** The profile in force, with what the answers have changed so far. */
  profile: ContractProfile;
  withValues: boolean;
  tokens: Map<Scope, string>;
  /** Sends a request when its turn has come. `toCheck`: what may be wrong where the answer cannot be read. */
  send(request: ApiRequest, toCheck: string): Promise<Answer>;
}

/** Begins a probe. */
export const openTalk = (
  { account, profile, withValues }: Pick<Talk, 'account' | 'profile' | 'withValues'>,
  http: Http,
): Talk => ({ account, profile, withValues, tokens: new Map(), send: createSend(account, http) });

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
  // `expires_in` and the like are shown as facts; no value of a body that holds a token is.
  const came = cameOf(reply, false);
  try {
    const context = { account, scope, profile, now: Date.now(), maxWaitMs: defaultMaxWaitMs };
    const { accessToken } = interpretTokenReply(reply, context);
    const remarks = lifetimeRemarks(reply.body);
    const verdict = remarks.length === 0 ? ('fits' as const) : ('open' as const);
    const token = tokenFacts(reply.body, accessToken);
    return { finding: { ...base, came, token, verdict, remarks, changes: [] }, accessToken };
  } catch (error) {
    if (!(error instanceof FaretrailError)) throw error;
    const verdict = error instanceof RideApiError && error.retryable ? 'unanswered' : 'wrong';
    return { finding: { ...base, came, verdict, remarks: [error.message], changes: [] } };
  }
}

const lifetimeRemarks = (body: unknown): string[] => {
  const isNamed = ['number', 'string'].includes(typeof ownValue(body, 'expires_in'));
  return isNamed ? [] : ['the answer names no lifetime: tokens.fallbackLifetimeMs holds'];
};

function tokenFacts(body: unknown, accessToken: string): TokenFacts {
  const said = (name: string): string => {
    const value = ownValue(body, name);
    return typeof value === 'string' || typeof value === 'number'
      ? shownText(String(value).slice(0, 100))
      : 'not named';
  };
  const isSigned = /^[\w-]+\.[\w-]+\.[\w-]*$/.test(accessToken);
  return {
    form: isSigned ? 'three parts with dots between (RFC 7519)' : 'opaque text',
    expiresIn: said('expires_in'),
    tokenType: said('token_type'),
    grantedScope: said('scope'),
  };
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
  const { account, profile, withValues } = talk;
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
  return { finding: { ...base, came: cameOf(reply, withValues), ...judge(reply) }, reply };
}

function obstacleOf(method: string, accessToken: string | undefined): string | undefined {
  if (method !== 'GET') return `not asked: a ${method} may change something`;
  return accessToken === undefined ? 'not asked: there is no token for it' : undefined;
}
