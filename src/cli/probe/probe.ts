import { existsSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { wallMs } from '../../clock.js';
import { bodyShape, shapeLines } from '../../contracts/body-shape.js';
import {
  type ContractProfile,
  interfaceTerms,
  type Operation,
  type OperationName,
  tokenEncodings,
} from '../../contracts/contract-profile.js';
import { overridesOf, parseContractProfile } from '../../contracts/default-contract-profile.js';
import { ownValue } from '../../contracts/json.js';
import { FaretrailError, InvalidInput } from '../../domain/errors.js';
import { iso } from '../../domain/instant.js';
import { type AccountName, type OrderId, type Scope, toOrderId, toScope } from '../../domain/keys.js';
import { RideApiError, RideApiGarbled, RideApiUnreachable } from '../../ride-api/errors.js';
import { type ApiReply, createHttp, type Http } from '../../ride-api/http.js';
import { operationRequest } from '../../ride-api/operation-request.js';
import { defaultMaxWaitMs, isRateLimit } from '../../ride-api/refusal.js';
import { interpretTokenReply, tokenRequest } from '../../ride-api/token.js';
import { inBrackets, inputOption, option } from '../arguments.js';
import type { CommandContext, CommandSpec } from '../command.js';
import { exitCodes } from '../failure.js';
import { unknownAccount } from '../known-account.js';
import { hidden, type Pair, paint, pairsText, plain, type Tone, tableText, withoutSecrets } from '../text.js';
import {
  changed,
  changeText,
  type Judgement,
  judged,
  judgeObject,
  judgeOrder,
  judgeUnknownOrder,
  type OrderRead,
  type Verdict,
} from './judging.js';
import type { Finding, Probe, Question } from './question.js';
import { refuseRepeat, repeatQuestions } from './repeat-create.js';

const help = `
Asks the service itself, without Temporal: a token for each scope, each read
that the contract profile offers, and an order id that cannot exist. It asks
each once, at most four times a second, and changes nothing. It shows what the
profile expects beside what came: names and types of a body, and of its values
none but a word of a status that we do not know.

fits: as expected. wrong: a guess of the profile is wrong, with the field to
change. open: the answer proves nothing. unanswered: the service gave none.
Ends with 1 when something is wrong or unanswered.

--write makes a file for FARETRAIL_CONTRACT_FILE with what differs from the
built-in profile: changes in force now, those that fit the answers, and
"verified" at each operation that was seen to work. Of files that exist it
updates only the one that FARETRAIL_CONTRACT_FILE names. It needs the client
secret of the account, as a worker does.

--encodings: where the first token is refused, tries the other encodings of its
request, each once. Services may lock credentials after many refusals.
--repeat-create with --yes books ONE REAL RIDE: it creates the scheduled ride of
the file twice under one request id, cancels it, and reads it. If both answers
name one order, which then reads cancelled, it proposes "repeatable": true. In
any other case it says what to check by hand. The service may charge a fee.`;

/** `probe`: what the service really answers, beside what the contract profile expects. */
export const probeCommand: CommandSpec = {
  form: 'probe <account> [orderId]',
  does: 'compare the contract profile with what the service answers',
  examples: ['business 7b21', 'business 7b21 --write contract.json'],
  more: help,
  options: [
    option('--write <file>', 'write the contract profile that fits the answers into this file'),
    option('--encodings', 'try the other encodings of the token request, each once'),
    inputOption('book and cancel this ride, to test its repeat', '--repeat-create <file>'),
    option('--yes', 'book the ride of --repeat-create'),
  ],
  act: probe,
};

interface Given {
  account: AccountName;
  orderId?: OrderId;
  write?: string;
  encodings?: boolean;
  repeatCreate?: unknown;
  yes?: boolean;
}

async function probe(context: CommandContext, given: Given): Promise<number> {
  const { account: name, orderId, write: file, encodings: triesEncodings = false, repeatCreate } = given;
  const { accounts, profile, proxy } = context.loadSettingsWithSecrets(context.env);
  const account = accounts.find((one) => one.name === name);
  if (account === undefined) throw unknownAccount(name, accounts);
  const updates = isInForce(context, file);
  if (file !== undefined && !updates) refuseUnwritable(file);
  if (repeatCreate !== undefined) refuseRepeat(repeatCreate, account, profile, given);
  const http = createHttp({ proxy });
  const findings: Finding[] = [];
  const textOf = createFindingTexts();
  try {
    for await (const finding of askAll(
      { account, profile, orderId, tokens: new Map(), triesEncodings, repeatCreate },
      http,
    )) {
      findings.push(finding);
      context.say(textOf(finding));
    }
  } finally {
    await http.close();
  }
  const isAsExpected = findings.every(({ verdict }) => verdict === 'fits' || verdict === 'open');
  const proposed = findings.flatMap((one) => one.changes);
  const changes = [...new Set(proposed.map(changeText))];
  const written = file !== undefined && changes.length > 0 ? file : null;
  if (written !== null) write(written, proposed.reduce(changed, profile), updates ? 'w' : 'wx');
  else if (file !== undefined) context.note(`${file} is not written: no answer proves or changes anything`);
  const answer = { account: name, askedAt: iso(wallMs()), isAsExpected, findings, changes, written };
  const where = written !== null && !updates ? `${written}; name it in FARETRAIL_CONTRACT_FILE` : written;
  context.tell(answer, closingText(findings, where));
  return isAsExpected ? exitCodes.done : exitCodes.failed;
}

/** The only file that may be replaced: the new profile holds all of it. */
const isInForce = ({ env }: CommandContext, file?: string): boolean =>
  file !== undefined && !!env.FARETRAIL_CONTRACT_FILE && resolve(env.FARETRAIL_CONTRACT_FILE) === resolve(file);

function refuseUnwritable(file: string): void {
  if (existsSync(file))
    throw new InvalidInput(
      `--write: ${file} already exists; name another file, or set FARETRAIL_CONTRACT_FILE to this one to update it`,
    );
  if (!existsSync(dirname(file))) throw new InvalidInput(`--write: ${file} cannot be written: there is no such folder`);
}

function write(file: string, profile: ContractProfile, flag: 'w' | 'wx'): void {
  const overrides = overridesOf(profile);
  parseContractProfile(overrides); // what a worker would refuse is not written
  try {
    writeFileSync(file, `${JSON.stringify(overrides, null, 2)}\n`, { flag });
  } catch (error) {
    throw new InvalidInput(`--write: ${file} cannot be written${inBrackets(error)}`);
  }
}

/** No service gives this id to an order: the nil UUID of RFC 9562 section 5.9. */
const impossibleOrderId = toOrderId('00000000-0000-0000-0000-000000000000');

/** Every question, each made when its turn has come: reads need the tokens of the answers before. The only POST asks for a token. */
function* allQuestions(probe: Probe): Generator<Question> {
  const { account, orderId } = probe;
  const isOffered = ({ interface: at, enabled }: Operation): boolean => enabled !== false && at === account.interface;
  const offered = Object.values(probe.profile.operations).filter(isOffered);
  const scopes = [...new Set(offered.map((operation) => toScope(operation.scope)))];
  for (const [index, scope] of scopes.entries()) {
    yield tokenQuestion(probe, scope);
    if (index === 0 && probe.triesEncodings) yield* encodingQuestions(probe, scope);
  }

  const { profile } = probe; // in the encoding that gave a token
  const order: OrderRead = interfaceTerms[account.interface].readOperation;
  if (isOffered(profile.operations[order])) {
    const ofOrder = readQuestion(probe, order, orderId);
    yield {
      ...ofOrder,
      expected: { ...ofOrder.expected, pointers: profile.pointers[order] },
      judge: (reply) => judgeOrder(reply, { operation: order, orderId: orderId ?? impossibleOrderId, profile }),
    };
    const ofNone = readQuestion(probe, order, impossibleOrderId);
    yield {
      ...ofNone,
      asks: `${order} of an id that cannot exist`,
      expected: { ...ofNone.expected, success: [404] },
      judge: (reply) => judgeUnknownOrder(reply, order),
    };
  }
  for (const operation of ['companySettings', 'orderReceipt'] as const)
    if (isOffered(profile.operations[operation])) yield readQuestion(probe, operation, orderId);
  if (probe.repeatCreate !== undefined) yield* repeatQuestions(probe, probe.repeatCreate);
}

/** The same token in the other encodings, each once, until one gives it. What follows uses that encoding. */
function* encodingQuestions(probe: Probe, scope: Scope): Generator<Question> {
  const { account, profile, tokens } = probe;
  const inForce = interfaceTerms[account.interface].tokenEncoding(profile);
  for (const encoding of tokenEncodings) {
    if (encoding === inForce || tokens.has(scope) || account.interface !== 'business') continue;
    const change = { kind: 'encoding', encoding } as const;
    probe.profile = changed(profile, change);
    const question = tokenQuestion(probe, scope);
    yield {
      ...question,
      asks: `${question.asks}, as ${encoding}`,
      judge(reply) {
        const judgement = question.judge(reply);
        return tokens.has(scope) ? { ...judgement, verdict: 'wrong', changes: [change] } : judgement;
      },
    };
  }
  if (!tokens.has(scope)) probe.profile = profile;
}

/** Asks for a token of this scope, and keeps it. */
function tokenQuestion({ account, profile, tokens }: Probe, scope: Scope): Question {
  const { tokenPath, tokenEncoding } = interfaceTerms[account.interface];
  const path = `${tokenPath} (${tokenEncoding(profile)})`;
  return {
    asks: scope === '' ? 'token without scope' : `token for scope ${scope}`,
    expected: { method: 'POST', path, scope, success: [200], source: 'given' },
    request: tokenRequest(account, scope, profile),
    toCheck: 'the base URL',
    judge(reply) {
      try {
        const context = { account, scope, profile, now: wallMs(), maxWaitMs: defaultMaxWaitMs };
        const { accessToken, lifetimeMs, differences } = interpretTokenReply(reply, context);
        tokens.set(scope, accessToken);
        const hasLifetime = ['number', 'string'].includes(typeof ownValue(reply.body, 'expires_in'));
        const lifetime = hasLifetime
          ? `the token serves for ${lifetimeMs / 1_000} s`
          : 'the answer names no lifetime: tokens.fallbackLifetimeMs holds';
        return judged(hasLifetime && differences.length === 0 ? 'fits' : 'open', lifetime, ...differences);
      } catch (error) {
        if (!(error instanceof FaretrailError)) throw error;
        return judged(error instanceof RideApiError && error.retryable ? 'unanswered' : 'wrong', error.message);
      }
    },
  };
}

/** Calls an operation as the profile has it; the answer has to be an object. */
function readQuestion({ account, profile, tokens }: Probe, operation: OperationName, orderId?: OrderId): Question {
  const { method, path, scope, success, source } = profile.operations[operation];
  const accessToken = tokens.get(toScope(scope));
  const values = orderId === undefined ? {} : { order_id: orderId };
  return {
    asks: operation,
    expected: { method, path, scope, success, source },
    request:
      whyNotAsked(profile.operations[operation], orderId, accessToken) ??
      operationRequest(account, { operation, values, accessToken: accessToken ?? '' }, profile),
    toCheck: `operations.${operation}.path and the base URL`,
    judge: (reply) => judgeObject(reply, operation, profile),
  };
}

function whyNotAsked({ method, path }: Operation, orderId?: string, accessToken?: string): string | undefined {
  if (orderId === undefined && path.includes('{order_id}')) return 'not asked: give the id of an order';
  if (method !== 'GET') return `not asked: a ${method} may change something`;
  return accessToken === undefined ? 'not asked: there is no token for it' : undefined;
}

/** A few requests a second, and never more than the account may send. */
const shortestPauseMs = 250;

/** Asks every question, one after the other, and gives each finding as it comes, as it may be shown. After a rate limit or a failed connection
 *  it asks nothing more. */
async function* askAll(probe: Probe, http: Http): AsyncGenerator<Finding> {
  const shortestMs = Math.max(shortestPauseMs, 1_000 / probe.account.requestsPerSecond);
  let sent = 0;
  let isOver = false;
  const answerTo = async ({
    request,
    toCheck,
    ifUnanswered,
    isCleanUp,
    pauseMs = 0,
  }: Question): Promise<ApiReply | Judgement> => {
    if (typeof request === 'string') return judged('open', request);
    if (isOver && !isCleanUp) return judged('unanswered', 'not asked, since the service gave no answer before');
    if (sent > 0) await wait(Math.max(shortestMs, pauseMs));
    sent += 1;
    try {
      const reply = await http.send(request);
      isOver = isRateLimit(reply);
      return reply;
    } catch (error) {
      if (error instanceof RideApiGarbled) return judged('wrong', `${error.message}: check ${toCheck}`);
      if (!(error instanceof RideApiUnreachable)) throw error;
      isOver = true;
      return judged('unanswered', error.message, ...(ifUnanswered === undefined ? [] : [ifUnanswered]));
    }
  };
  for (const question of allQuestions(probe)) {
    const { asks, expected } = question;
    const answer = await answerTo(question);
    const finding =
      'verdict' in answer
        ? { asks, expected, came: null, ...answer }
        : { asks, expected, came: cameOf(answer), ...question.judge(answer) };
    yield withoutSecretsIn(finding, [probe.account.clientSecret, ...probe.tokens.values()]);
  }
}

const cameOf = ({ status, body }: ApiReply) => ({ status, body: body === undefined ? null : bodyShape(body) });

const shortestSecret = 8;
/** Shorter parts of a secret may be ordinary words. */
const tellingPart = /[\w.~+/=-]{12,}/g;

/** A copy in which no text and no name holds one of the secrets, or a telling part of one. */
function withoutSecretsIn<T>(shown: T, secrets: readonly string[]): T {
  const whole = secrets.filter((secret) => secret.length >= shortestSecret);
  const isPart = (part: string): boolean => whole.some((secret) => secret.includes(part));
  const clean = (text: string): string =>
    withoutSecrets(text, whole).replaceAll(tellingPart, (part) => (isPart(part) ? hidden : part));
  const copy = (value: unknown): unknown => {
    if (typeof value === 'string') return clean(value);
    if (Array.isArray(value)) return value.map(copy);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [clean(name), copy(one)]));
  };
  return copy(shown) as T;
}

const tones: Readonly<Record<Verdict, Tone>> = { fits: 'good', wrong: 'bad', open: 'faint', unanswered: 'bad' };

/** Findings as text: one line for what is as expected or as an earlier finding, a block for all else. */
function createFindingTexts(): (finding: Finding) => string {
  const shown = new Map<string, string>();
  return (finding) => {
    const { asks, expected, verdict, came, remarks } = finding;
    const title = `${paint('strong', plain(asks))}: ${paint(tones[verdict], verdict)}`;
    if (verdict === 'fits' || came === null) return [title, ...remarks.map(plain)].join('; ');
    const block = blockOf({ ...finding, expected: { ...expected, scope: '' } });
    const before = shown.get(block);
    if (before !== undefined) return `${title}, as ${plain(before)}`;
    shown.set(block, asks);
    return `\n${title}\n  ${blockOf(finding)}\n`;
  };
}

/** What the profile expects beside what came, the shape of the body, and what to change. */
function blockOf(finding: Finding): string {
  const { came, remarks, changes } = finding;
  const said = [...remarks.map((one) => `- ${one}`), ...changes.map((one) => `* ${changeText(one)}`)].map(plain);
  const body = came?.body ? shapeLines(came.body) : ['none that can be read'];
  const table = tableText(['', 'expected', 'came'], rowsOf(finding));
  return [...table.split('\n'), 'body', ...body.map((line) => `  ${plain(line)}`), ...said].join('\n  ');
}

function rowsOf({ expected, came, matched, changes }: Finding): string[][] {
  const { method, path, scope, success, source, pointers } = expected;
  const first = ([one = '', ...others]: readonly string[]): string =>
    others.length === 0 ? one : `${one}, or ${others.length} others`;
  const word = matched?.isKnownStatus ? 'a word that we know' : 'a word that we do not know';
  const rows = [
    ['request', `${method} ${path}`, ''],
    ['known how', source, changes.some(({ kind }) => kind === 'verified') ? 'it works' : ''],
    ['scope', scope === '' ? 'none' : scope, ''],
    ['HTTP status', success.join(' or '), String(came?.status ?? '-')],
  ];
  if (pointers)
    rows.push(
      ['status at', first(pointers.status), matched?.status ? `${matched.status}: ${word}` : 'at none of them'],
      ['order id at', first(pointers.orderId), matched?.orderId ?? 'at none of them'],
    );
  return rows.map((row) => row.map(plain));
}

/** The result of all questions. */
function closingText(findings: readonly Finding[], where: string | null): string {
  const byVerdict = Object.keys(tones).map((verdict): Pair => {
    const asks = findings.filter((one) => one.verdict === verdict).map((one) => one.asks);
    return [verdict, asks.length === 0 ? null : plain(asks.join(', '))];
  });
  return `\n${pairsText([...byVerdict, ['written', where === null ? null : plain(where)]])}`;
}
