import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import {
  createFaretrailClient,
  type FaretrailClient,
  FaretrailClientError,
  type OrderHandle,
} from '../../../src/client/index.js';
import { type Sandbox, sandboxCredentials, sandboxReferenceFields, startSandbox } from '../../sandbox/sandbox.js';
import { startLocalProcess } from '../../stack/run/process-child.js';
import { until } from '../../stack/run/until.js';
import { findDevServer, startDevServer } from '../../stack/temporal/dev-server.js';
import { freePort } from '../../stack/temporal/free-port.js';
import { startServerProcess } from '../../stack/temporal/server-process.js';
import type { OnEnd } from '../profile.js';
import type { Row, Wanted } from './report.js';
import { type OAuthClient, type Seen, startTokenGateway, type TokenGateway } from './token-gateway.js';
import { goTool, nodeTool, type Tool } from './tools.js';

/** A fifth of it is left when a worker renews: more than a busy machine needs. Issuers count in whole seconds. */
const lifetimeSeconds = 20;
/** A worker asks again after rejected credentials. */
const coolDownMs = 60_000;
const newSecret = (): string => randomBytes(24).toString('hex');
const fullScope = 'order company.reference finance';
const fields = {
  interface: 'business',
  businessId: sandboxCredentials.business.businessId,
  poll: { activeMs: 1_000, reservedMs: 1_000, pushedMs: 1_000 },
};

/** One token endpoint of others, with the gateway before the service that takes its tokens. */
interface Issuer {
  tool: Tool;
  name: string;
  url: string;
  gateway: TokenGateway;
  /** With the secrets that the worker has. The endpoint knows another one of `mistaken` until it is restarted. */
  clients: Record<'rides' | 'narrow' | 'mistaken', OAuthClient>;
  /** Starts it anew: it has forgotten every token. */
  restart(): Promise<void>;
}

/** Workers get tokens by client credentials from token endpoints that others wrote. */
export async function tokens({ say, onEnd }: Wanted): Promise<Row[]> {
  const tools = [
    { name: 'oidc-provider', tool: await nodeTool('oidc-provider', 'oidc-provider.mjs', say) },
    { name: 'oauth2-server', tool: await nodeTool('@node-oauth/oauth2-server', 'oauth2-server.mjs', say) },
    { name: 'fosite', tool: await goTool('fosite', say) },
  ];
  const temporalProgram = await findDevServer(say);
  const sandbox = await startSandbox();
  onEnd(() => sandbox.close());
  const issuers: Issuer[] = [];
  for (const tool of tools) issuers.push(await startIssuer(tool, sandbox.url, onEnd));
  const rides = await startWorker(temporalProgram, issuers, onEnd);
  say('the worker is up');
  return await Promise.all(issuers.map((issuer) => meet({ issuer, rides, sandbox, say })));
}

async function startIssuer(
  { name, tool }: Pick<Issuer, 'name' | 'tool'>,
  sandboxUrl: string,
  onEnd: OnEnd,
): Promise<Issuer> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const client = (id: string, scope: string): OAuthClient => ({ id, secret: newSecret(), scope });
  const clients = {
    rides: client('rides', fullScope),
    narrow: client('narrow', 'order'),
    mistaken: client('mistaken', 'order'),
  };
  const self = client('gateway', '');
  const start = async (known: OAuthClient[]) => {
    const env = { ...process.env, PORT: `${port}`, LIFETIME: `${lifetimeSeconds}`, CLIENTS: JSON.stringify(known) };
    return await startServerProcess(tool.program, tool.args, { env, isUp: () => isThere(url) });
  };
  const others = [clients.rides, clients.narrow, self];
  let server = await start([...others, { ...clients.mistaken, secret: newSecret() }]);
  onEnd(() => server.kill());
  const gateway = await startTokenGateway({ authUrl: url, self, sandboxUrl });
  onEnd(() => gateway.close());
  const restart = async () => {
    await server.kill();
    server = await start([...others, clients.mistaken]);
  };
  return { tool, name, url, gateway, clients, restart };
}

const isThere = (url: string): Promise<boolean> =>
  fetch(url).then(
    () => true,
    () => false,
  );

/** A worker with an account for each client. */
async function startWorker(program: string, issuers: readonly Issuer[], onEnd: OnEnd): Promise<FaretrailClient> {
  const folder = mkdtempSync(join(tmpdir(), 'faretrail-counterparts-'));
  onEnd(() => rmSync(folder, { recursive: true, force: true }));
  const temporal = await startDevServer({ program, databaseFile: join(folder, 'temporal.db') });
  onEnd(() => temporal.stop());
  const accounts = issuers.flatMap(({ name, gateway, clients }) =>
    Object.values(clients).map(({ id, secret }) => {
      const file = join(folder, `${name}-${id}`);
      writeFileSync(file, secret);
      return [`${name}-${id}`, { ...fields, baseUrl: gateway.url, clientId: id, clientSecret: { file } }];
    }),
  );
  const accountsFile = join(folder, 'accounts.json');
  writeFileSync(accountsFile, JSON.stringify({ accounts: Object.fromEntries(accounts) }));
  const env = {
    ...{ PATH: process.env.PATH, HOME: process.env.HOME, TZ: 'UTC', TEMPORAL_ADDRESS: temporal.address },
    ...{ FARETRAIL_ACCOUNTS_FILE: accountsFile, FARETRAIL_SEALING_KEYS: `k1:${randomBytes(32).toString('base64url')}` },
  };
  const worker = await startLocalProcess('worker', env, folder);
  onEnd(() => worker.stop());
  const connection = await Connection.connect({ address: temporal.address });
  onEnd(() => connection.close());
  return createFaretrailClient({ client: new Client({ connection }) });
}

interface Meeting {
  issuer: Issuer;
  rides: FaretrailClient;
  sandbox: Sandbox;
  say: Wanted['say'];
  /** Notes what is wrong. */
  check(isSo: boolean, otherwise: string): void;
}

/** Everything that tokens of one endpoint go through. */
async function meet(meeting: Omit<Meeting, 'check'>): Promise<Row> {
  const { issuer, sandbox } = meeting;
  const wrong: string[] = [];
  const place: Meeting = { ...meeting, check: (isSo, otherwise) => void (isSo || wrong.push(otherwise)) };
  const startedAt = Date.now();
  const orders = [await follow(place, 'rides'), await follow(place, 'mistaken')] as const;
  const [order, mistaken] = orders;
  await until(`${issuer.name}: order not read`, async () => (await order.trail()).status === 'Driving');
  await tryScopes(place, order.orderId);
  const isRefused = async () => (await mistaken.trail()).attention?.code === 'credentialsRejected';
  await until(`${issuer.name}: no attention about the wrong secret`, isRefused);
  const calm = await renewals(place, startedAt);
  const afterRevocation = await revoke(place);
  const healedMs = await restart(place, mistaken);
  for (const { orderId } of orders) sandbox.setStatus('business', orderId, 'Completed');
  for (const { outcome, attention, orderId } of await Promise.all(orders.map((one) => one.result())))
    place.check(outcome === 'completed' && attention === null, `order ${orderId} ended as ${outcome}`);
  const refused = seenOf(issuer, 'mistaken', startedAt).filter(({ status }) => status !== 200).length;
  const mostRefused = 1 + Math.ceil((Date.now() - startedAt) / coolDownMs);
  place.check(refused <= mostRefused, `${refused} token requests with a wrong secret, instead of ${mostRefused}`);
  return {
    tool: issuer.tool.name,
    version: issuer.tool.version,
    tried: `tokens of ${lifetimeSeconds} s; two scopes, and one that the client has not; a wrong secret, put right later; a revoked token; a restart that forgets all tokens`,
    came: `${calm}; ${afterRevocation} after the revocation; ${refused} with the wrong secret; every order read again ${Math.round(healedMs / 1_000)} s after the restart, and completed`,
    wrong,
  };
}

/** An order that is on its way until it is told otherwise. */
async function follow({ issuer, rides, sandbox }: Meeting, client: string): Promise<OrderHandle> {
  const orderId = randomUUID();
  sandbox.addOrder({ interface: 'business', orderId, script: [{ status: 'Driving', afterMs: 0 }] });
  return await rides.follow({ account: `${issuer.name}-${client}`, orderId });
}

async function tryScopes({ issuer: { name }, rides, check, say }: Meeting, orderId: string): Promise<void> {
  const ended = (call: Promise<unknown>): Promise<string> =>
    call.then(
      () => 'done',
      (error: unknown) => (error instanceof FaretrailClientError ? error.code : String(error)),
    );
  const body = [{ value: randomUUID().replaceAll('-', 'x') }];
  const codes = {
    account: `${name}-rides`,
    operation: 'addReferenceCode',
    key: 'codes',
    referenceFieldId: sandboxReferenceFields[0].codesId,
    body,
  } as const;
  const withScope = await ended(rides.call(codes));
  check(withScope === 'done', `a call with a scope of its own ended with ${withScope}`);
  const receipt = { account: `${name}-narrow`, operation: 'orderReceipt', key: 'receipt', orderId } as const;
  const without = await ended(rides.call(receipt));
  check(without === 'CredentialsRejected', `a call with a scope that the client has not ended with ${without}`);
  say(`${name}: scopes were judged`);
}

/** Watches several lifetimes. */
async function renewals({ issuer, check, say }: Meeting, startedAt: number): Promise<string> {
  await sleep(3 * lifetimeSeconds * 1_000);
  const ms = Date.now() - startedAt;
  const expired = issuer.gateway.seen.filter(isTurnedAway).length;
  check(expired === 0, `${expired} calls with a token that had expired`);
  const requests = seenOf(issuer, 'rides', startedAt).length;
  const most = 2 + Math.ceil(ms / (lifetimeSeconds * 800 - 2_000)); // one of them is for the other scope
  check(requests <= most, `${requests} token requests in ${ms} ms, instead of at most ${most}`);
  say(`${issuer.name}: ${requests} token requests in ${Math.round(ms / 1_000)} s`);
  return `${requests} token requests in ${Math.round(ms / 1_000)} s, ${expired} calls with an expired token`;
}

/** Revokes the token of the newest call (RFC 7009). Resolves with the number of token requests that followed. */
async function revoke({ issuer, check, say }: Meeting): Promise<number> {
  const { gateway, clients, url } = issuer;
  const { id, secret } = clients.rides;
  const token = gateway.seen.findLast(({ kind, clientId }) => kind === 'call' && clientId === id)?.token ?? '';
  const body = new URLSearchParams({ token, client_id: id, client_secret: secret });
  const revokedAt = Date.now();
  const answer = await fetch(`${url}/revoke`, { method: 'POST', body });
  check(answer.ok, `a revocation was answered with ${answer.status}`);
  const isServed = async () =>
    gateway.seen.some((one) => one.clientId === id && one.token !== token && one.at > revokedAt && isServedCall(one));
  await until(`${issuer.name}: no call with another token`, isServed);
  const requests = seenOf(issuer, id, revokedAt).length;
  check(requests <= 2, `${requests} token requests after a revocation`);
  say(`${issuer.name}: served again after the revocation`);
  return requests;
}

/** Resolves with the milliseconds until both accounts are served again. */
async function restart({ issuer, say }: Meeting, mistaken: OrderHandle): Promise<number> {
  const restartedAt = Date.now();
  await issuer.restart();
  const isServed = async () => {
    const { status, attention } = await mistaken.trail();
    const calls = issuer.gateway.seen.filter((one) => one.at > restartedAt && isServedCall(one));
    return status === 'Driving' && attention === null && calls.some(({ clientId }) => clientId === 'rides');
  };
  await until(`${issuer.name}: an order is not read after the restart`, isServed);
  say(`${issuer.name}: every order is read after the restart`);
  return Date.now() - restartedAt;
}

const isServedCall = ({ kind, status }: Seen): boolean => kind === 'call' && status === 200;
const isTurnedAway = ({ kind, status }: Seen): boolean => kind === 'call' && status === 401;

/** Token requests of a client. */
const seenOf = ({ gateway }: Issuer, client: string, since: number): Seen[] =>
  gateway.seen.filter(({ kind, clientId, at }) => kind === 'token' && clientId === client && at >= since);
