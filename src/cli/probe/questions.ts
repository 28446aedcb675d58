import { setTimeout as wait } from 'node:timers/promises';
import type { ContractProfile, Operation, OperationName } from '../../contracts/contract-profile.js';
import { interfaceTerms } from '../../contracts/interface-terms.js';
import { ownValue } from '../../contracts/json.js';
import type { Account } from '../../domain/account.js';
import { FaretrailError } from '../../domain/errors.js';
import { shownText } from '../../domain/json.js';
import { type OrderId, type Scope, toOrderId, toScope } from '../../domain/keys.js';
import { RideApiError, RideApiGarbled, RideApiUnreachable } from '../../ride-api/errors.js';
import type { ApiReply, ApiRequest, Http } from '../../ride-api/http.js';
import { operationRequest } from '../../ride-api/operation-request.js';
import { defaultMaxWaitMs } from '../../ride-api/retry-decision.js';
import { interpretTokenReply, tokenRequest } from '../../ride-api/token.js';
import { type Came, cameOf, withoutSecrets } from './came.js';
import { type Judgement, judgeObject, judgeOrder, judgeUnknownOrder, type OrderRead } from './judging.js';

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

/** What the questions are about. */
export interface Asking {
  account: Account;
  orderId: OrderId | undefined;
  profile: ContractProfile;
  http: Http;
  withValues: boolean;
}

/** No service gives this id to an order: the nil UUID of RFC 9562 section 5.9. */
const impossibleOrderId = toOrderId('00000000-0000-0000-0000-000000000000');

/** A few requests a second, and never more than the account may send. */
const shortestPauseMs = 250;

type Answer = { reply: ApiReply } | { failed: Judgement };

/** Asks every question once, one after the other, and gives each finding as it comes. Reads only: the only POST asks for a token. */
export async function* askAll(asking: Asking): AsyncGenerator<Finding> {
  const { account, profile } = asking;
  const ask = createAsk(asking);
  const tokens = new Map<Scope, string>();
  const clean = (finding: Finding): Finding => withoutSecrets(finding, [account.clientSecret, ...tokens.values()]);
  const offered = Object.values(profile.operations).filter(
    (one) => isAsked(one) && one.interface === account.interface,
  );
  for (const scope of new Set(offered.map((operation) => toScope(operation.scope)))) {
    const { finding, accessToken } = await askToken(ask, asking, scope);
    if (accessToken !== undefined) tokens.set(scope, accessToken);
    yield clean(accessToken === undefined ? finding : withoutSecrets(finding, [accessToken]));
  }
  for (const question of questionsFor(asking)) yield clean(await askOperation(ask, asking, { question, tokens }));
}

const isAsked = (operation: Operation): boolean => operation.enabled !== false;

/** Sends with a pause between two requests. After a rate limit or a failed connection it sends nothing more. */
function createAsk({ account, http }: Asking) {
  const pauseMs = Math.max(shortestPauseMs, 1_000 / account.requestsPerSecond);
  let isFirst = true;
  let isOver = false;
  return async (request: ApiRequest): Promise<Answer> => {
    if (isOver) return unanswered('not asked, since the service gave no answer before');
    if (!isFirst) await wait(pauseMs);
    isFirst = false;
    try {
      const reply = await http.send(request);
      isOver = reply.status === 429;
      return { reply };
    } catch (error) {
      if (error instanceof RideApiGarbled)
        return { failed: { verdict: 'wrong', remarks: [garbled(error)], changes: [] } };
      if (!(error instanceof RideApiUnreachable)) throw error;
      isOver = true;
      return unanswered(error.message);
    }
  };
}

type Ask = ReturnType<typeof createAsk>;

const unanswered = (remark: string): Answer => ({ failed: { verdict: 'unanswered', remarks: [remark], changes: [] } });
const garbled = ({ message }: RideApiGarbled): string => `${message}: check the path and the base URL`;

async function askToken(ask: Ask, asking: Asking, scope: Scope): Promise<{ finding: Finding; accessToken?: string }> {
  const { account, profile } = asking;
  const { tokenPath, tokenEncoding } = interfaceTerms[account.interface];
  const base = {
    asks: scope === '' ? 'token without scope' : `token for scope ${scope}`,
    expected: {
      ...{ method: 'POST', path: `${tokenPath} (${tokenEncoding(profile)})`, scope },
      ...{ success: [200], source: 'given' as const },
    },
  };
  const answer = await ask(tokenRequest(account, scope, profile));
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

/** One read of the profile. */
interface Question {
  asks: string;
  operation: OperationName;
  orderId?: OrderId;
  /** What the profile expects besides the request. */
  expected?: Pick<Expected, 'success' | 'pointers'>;
  /** Why it cannot be asked. */
  obstacle?: string;
  judge(reply: ApiReply): Judgement;
}

function questionsFor({ account, orderId, profile }: Asking): Question[] {
  const operation: OrderRead = interfaceTerms[account.interface].readOperation;
  const needsOrder = orderId === undefined ? { obstacle: 'not asked: give the id of an order' } : { orderId };
  const ofOrder: Question[] = [
    {
      ...{ asks: operation, operation, ...needsOrder },
      expected: { success: profile.operations[operation].success, pointers: profile.pointers[operation] },
      judge: (reply) => judgeOrder(reply, { operation, orderId: orderId ?? impossibleOrderId, profile }),
    },
    {
      ...{ asks: `${operation} of an id that cannot exist`, operation, orderId: impossibleOrderId },
      expected: { success: [404] },
      judge: (reply) => judgeUnknownOrder(reply, operation),
    },
  ];
  const ofCompany: Question[] = [
    {
      ...{ asks: 'companySettings', operation: 'companySettings' },
      judge: (reply) => judgeObject(reply, 'companySettings', profile),
    },
    {
      ...{ asks: 'orderReceipt', operation: 'orderReceipt', ...needsOrder },
      judge: (reply) => judgeObject(reply, 'orderReceipt', profile),
    },
  ];
  return [...ofOrder, ...ofCompany].filter(({ operation: name }) => {
    const offered = profile.operations[name];
    return isAsked(offered) && offered.interface === account.interface;
  });
}

async function askOperation(
  ask: Ask,
  { account, profile, withValues }: Asking,
  { question, tokens }: { question: Question; tokens: ReadonlyMap<Scope, string> },
): Promise<Finding> {
  const { asks, operation, orderId, judge } = question;
  const { method, path, scope, success, source } = profile.operations[operation];
  const base = { asks, expected: { method, path, scope, success, source, ...question.expected } };
  const accessToken = tokens.get(toScope(scope));
  const obstacle = question.obstacle ?? obstacleOf(method, accessToken);
  if (obstacle !== undefined || accessToken === undefined)
    return { ...base, came: null, verdict: 'open', remarks: [obstacle ?? ''], changes: [] };
  const values = orderId === undefined ? {} : { order_id: orderId };
  const answer = await ask(operationRequest(account, { operation, values, accessToken }, profile));
  if ('failed' in answer) return { ...base, came: null, ...answer.failed };
  return { ...base, came: cameOf(answer.reply, withValues), ...judge(answer.reply) };
}

function obstacleOf(method: string, accessToken: string | undefined): string | undefined {
  if (method !== 'GET') return `not asked: a ${method} may change something`;
  return accessToken === undefined ? 'not asked: there is no token for it' : undefined;
}
