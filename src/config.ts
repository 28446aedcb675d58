import type { ContractProfile } from './contracts/contract-profile.js';
import { defaultContractProfile, parseContractProfile } from './contracts/default-contract-profile.js';
import type { Cadence } from './domain/account.js';
import { FaretrailError, InvalidInput } from './domain/errors.js';
import { defaultWatch, noWatch } from './domain/order/concern.js';
import { shares } from './domain/shares.js';
import { defaultTaskQueue } from './domain/task-queues.js';
import { originRule, toOrigin, toWebAddress, webAddressRule } from './domain/web-address.js';
import type { ServiceProxy } from './ride-api/proxy.js';
import { defaultMaxWaitMs } from './ride-api/refusal.js';
import { type KeyRing, keyRecipe, signingForm, withHidden } from './sealing/key-ring.js';
import { type AccountSettings, hasSecret, readAccounts } from './settings/accounts.js';
import { readDesk } from './settings/desk.js';
import { type Env, EnvReader, type ReadFile } from './settings/env-reader.js';
import { waysTo } from './store/tls.js';

export type { Env, ReadFile } from './settings/env-reader.js';

const nameSetting = 'TEMPORAL_DEPLOYMENT_NAME';
const buildIdSetting = 'TEMPORAL_WORKER_BUILD_ID';

/** Which version of which worker deployment a worker is (Temporal's Worker Versioning); null: not versioned. A build id alone is no
 *  mistake, since every image has one. */
function readDeployment(read: EnvReader) {
  // The server writes a version as "name:build id", once as "name.build id".
  const deploymentName = read.matching(
    nameSetting,
    /^[A-Za-z0-9_/-]{1,200}$/, // the worker controller sets "namespace/name"
    'must be 1 to 200 letters, digits, "_", "/" or "-"',
  );
  const buildId = read.matching(
    buildIdSetting,
    /^[A-Za-z0-9._+-]{1,100}$/,
    'must be 1 to 100 letters, digits, ".", "_", "+" or "-"',
  );
  if (deploymentName !== undefined && read.text(buildIdSetting) === undefined)
    read.refuse(buildIdSetting, `missing; set it to what tells this build from others, or unset ${nameSetting}`);
  return deploymentName === undefined || buildId === undefined ? null : Object.freeze({ deploymentName, buildId });
}

/** The address of the store, which holds a password. `none`: this process has none; `off`: there is none any more, and changes that wait for
 *  one are dropped. */
function readStore(read: EnvReader): { url: string } | 'none' | 'off' {
  const found = read.secret('FARETRAIL_STORE_URL');
  if (found === undefined) return 'none';
  if (found.value === 'off') return 'off';
  if (namesSeveralHosts(found.value)) {
    read.refuse(found.setBy, 'names several hosts; give one, such as a name that follows the primary, or a pooler');
    return 'none';
  }
  const url = URL.canParse(found.value) ? new URL(found.value) : null;
  if (!url || !/^postgres(ql)?:$/.test(url.protocol) || !url.hostname || !/^\/[^/]+$/.test(url.pathname)) {
    const form = 'must be postgresql://USER:PASSWORD@HOST:PORT/DATABASE, or off';
    read.refuse(found.setBy, endsInItsPassword.test(found.value) ? `${form}; ${encodePassword}` : form);
    return 'none';
  }
  const modeOf = 'PGSSLMODE';
  const mode = url.searchParams.has('sslmode') ? undefined : read.text(modeOf);
  const address = mode ? `${found.value}${url.search ? '&' : '?'}sslmode=${encodeURIComponent(mode)}` : found.value;
  try {
    waysTo(address);
  } catch (error) {
    read.refuse(mode === undefined ? found.setBy : modeOf, (error as Error).message);
  }
  return withHidden({}, 'url', address);
}

/** A "/", "?" or "#" in user or password: an address ends there, before its host. */
const endsInItsPassword = /^\w+:\/\/[^/?#]*[/?#].*@/s;
const encodePassword = 'percent-encode the password: @ is %40, / is %2F, # is %23, ? is %3F, % is %25';

/** libpq takes several; the library that we use would look one name up that holds them all. */
function namesSeveralHosts(address: string): boolean {
  const [, authority = '', query] = /^\w+:\/\/([^/?#]*)[^?#]*(?:\?(.*))?$/s.exec(address) ?? [];
  const hosts = [authority.slice(authority.lastIndexOf('@') + 1), new URLSearchParams(query).get('host') ?? ''];
  return hosts.some((host) => host.includes(','));
}

/** How spans are sent. */
export type TraceProtocol = 'http/protobuf' | 'http/json';

/** How traces are sent; null: not at all. The library reads the rest of the standard `OTEL_*` variables by itself. */
export function readTracing(read: EnvReader): TraceProtocol | null {
  const exporter = read.oneOf('OTEL_TRACES_EXPORTER', ['otlp', 'none']);
  if (exporter !== 'otlp' || read.text('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return null;
  const name = ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL'].find((one) => read.text(one));
  const protocol = name && read.text(name);
  if (name === undefined || protocol === 'http/protobuf') return 'http/protobuf';
  if (protocol !== 'http/json')
    read.refuse(name, 'must be http/protobuf or http/json; collectors take them on port 4318, not on 4317');
  return 'http/json';
}

/** Reads `HTTPS_PROXY`, which may hold a password, and `NO_PROXY`. Of the two spellings of a name the lower one counts, as with curl. */
function readProxy(read: EnvReader): ServiceProxy | null {
  const lower = read.text('https_proxy');
  const found = lower === undefined ? read.secret('HTTPS_PROXY') : { value: lower, setBy: 'https_proxy' };
  if (found === undefined) return null;
  const url = toProxyUrl(found.value);
  const rule = `must be http://USER:PASSWORD@HOST:PORT or https://...; ${encodePassword}`;
  if (!url) return read.refuse(found.setBy, rule) ?? null;
  const user = [url.username, url.password].map(decodeURIComponent).join(':');
  const authorization = user === ':' ? null : `Basic ${Buffer.from(user).toString('base64')}`;
  const noProxy = (read.text('no_proxy') ?? read.text('NO_PROXY') ?? '').split(/[\s,]+/).filter(Boolean);
  return Object.freeze(withHidden({ origin: url.origin, noProxy }, 'authorization', authorization));
}

function toProxyUrl(given: string): URL | null {
  try {
    const url = new URL(given.includes('://') ? given : `http://${given}`);
    decodeURIComponent(`${url.username}${url.password}`); // throws for a "%" that stands for itself
    return /^https?:$/.test(url.protocol) && `${url.pathname}${url.search}${url.hash}` === '/' ? url : null;
  } catch {
    return null;
  }
}

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

export type LogLevel = (typeof logLevels)[number];

/** Every setting that needs no upstream credentials. `null` means off or not set. */
export type CliConfig = Readonly<ReturnType<typeof readSettings>>;

/** `CliConfig` with the credentials. Secrets and keys are not enumerable, so printing or logging it shows none. */
export type Config = ReturnType<typeof loadConfig>;

/** What a worker cannot do without is there. */
export type WorkerConfig = ReturnType<typeof loadWorkerConfig>;

/** What an ingress cannot do without is there. It spends no credentials: no client secret, and no key that opens tokens. */
export type IngressConfig = ReturnType<typeof loadIngressConfig>;

/**
 * Settings are missing or wrong; `problems` lists all of them, each with its remedy and none with a value. The process
 * exits with 2. Not for a server that cannot be reached.
 */
export class ConfigError extends FaretrailError<'ConfigError'> {
  override readonly name = 'ConfigError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super('ConfigError', `settings to correct:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
    this.problems = problems;
  }
}

/** Everything the environment says; nothing is required. Throws `ConfigError`. */
export const loadConfig = (env: Env, readFile?: ReadFile) =>
  load(env, readFile, true, (settings) => ({ ...settings, accounts: settings.accounts.filter(hasSecret) }));

/** The settings of a worker: at least one account, and the keys that seal its tokens. Throws `ConfigError`. */
export const loadWorkerConfig = (env: Env, readFile?: ReadFile) =>
  load(env, readFile, true, (settings, read) => {
    const accounts = requireAccount(settings.accounts.filter(hasSecret), read);
    const sealingKeys = requireKeys('FARETRAIL_SEALING_KEYS', settings.sealingKeys, read);
    const traces = readTracing(read);
    if (settings.notify.origins.length > 0) requireKeys('FARETRAIL_NOTIFY_SECRETS', settings.notify.secrets, read);
    return accounts && sealingKeys && { ...settings, accounts, sealingKeys, traces };
  });

/** The settings of an ingress: at least one account, and the keys of its addresses. No client secret is looked up, and
 *  what only a worker uses is checked and left out. Throws `ConfigError`. */
export const loadIngressConfig = (env: Env, readFile?: ReadFile) =>
  load(env, readFile, false, (settings, read) => {
    const accounts = requireAccount(settings.accounts, read);
    const webhookKeys = requireKeys('FARETRAIL_WEBHOOK_KEYS', settings.webhookKeys, read);
    const traces = readTracing(read);
    const notify = readNotify(new EnvReader({})); // it sends none
    return accounts && webhookKeys && { ...settings, accounts, sealingKeys: null, notify, webhookKeys, traces };
  });

/** The settings of the CLI: nothing is required, and no client secret is looked up. Throws `ConfigError`. */
export const loadCliConfig = (env: Env, readFile?: ReadFile): CliConfig =>
  load(env, readFile, false, (settings) => settings);

/** Reads all settings, and then what the process cannot do without. */
function load<T>(
  env: Env,
  readFile: ReadFile | undefined,
  withSecrets: boolean,
  complete: (settings: CliConfig, read: EnvReader) => T | null,
): Readonly<T> {
  const read = new EnvReader(env, readFile);
  const config = complete(readSettings(read, withSecrets), read);
  if (read.problems.length > 0 || config === null) throw new ConfigError(read.problems);
  return Object.freeze(config);
}

// A problem with the value says more than "missing".
const isTold = (read: EnvReader, names: RegExp): boolean => read.problems.some((problem) => names.test(problem));

function requireAccount<A>([first, ...rest]: readonly A[], read: EnvReader): [A, ...A[]] | null {
  if (first) return [first, ...rest];
  if (!isTold(read, /^FARETRAIL_(PARTNER_|BUSINESS_|ACCOUNTS_FILE:)/))
    read.refuse('FARETRAIL_ACCOUNTS_FILE', 'no account; set it, FARETRAIL_PARTNER_* or FARETRAIL_BUSINESS_*');
  return null;
}

function requireKeys(name: string, keys: KeyRing | null, read: EnvReader): KeyRing | null {
  if (!keys && !isTold(read, new RegExp(`^${name}(_FILE)?:`)))
    read.refuse(name, `missing; make one with: ${keyRecipe}`);
  return keys;
}

/** The table of settings: each of them is looked up here, once. */
function readSettings(read: EnvReader, withSecrets: boolean) {
  const profile = readProfile(read);
  const poll = readPoll(read);
  const requestsPerSecond = profile.limits.requestsPerSecond;
  const watch = read.oneOf('FARETRAIL_WATCH', ['on', 'off']) === 'off' ? noWatch : defaultWatch;
  const { accounts, secretVariables } = readAccounts(read, { poll, watch, requestsPerSecond, withSecrets });
  if (read.text(uncheckedTls) === '0') read.refuse(uncheckedTls, useOwnAuthority);
  const journalDir = read.text('FARETRAIL_JOURNAL_DIR') ?? '.faretrail/journal';
  const settings = {
    accounts: accounts as readonly AccountSettings[],
    profile,
    taskQueue:
      read.matching('FARETRAIL_TASK_QUEUE', /^[^\s\p{C}]{1,200}$/u, 'must be 1 to 200 characters without blanks') ??
      defaultTaskQueue,
    /** Null: workers are not versioned. */
    deployment: readDeployment(read),
    ...readSecrets(read),
    codec: readCodec(read),
    desk: readDesk(read),
    store: readStore(read),
    /** Null: calls to the service go directly. */
    proxy: readProxy(read),
    /** Where the service reaches the ingress, without a trailing slash; commands use the first. */
    publicUrls: readPublicUrls(read),
    ingressHost: read.host('FARETRAIL_INGRESS_HOST'),
    /** 0 takes any free port. */
    ingressPort: read.port('FARETRAIL_INGRESS_PORT') ?? 8480,
    /** Null: the journal is switched off. */
    journalDir: journalDir === 'off' ? null : journalDir,
    journalMaxMb: read.integer('FARETRAIL_JOURNAL_MAX_MB', { min: 1, max: 1_048_576 }) ?? 1024,
    /** What one address may send; null: any number, and accounts have no shares. */
    deliveriesPerSecond: readDeliveriesPerSecond(read),
    /** The largest body of a delivery. */
    deliveryMaxKb: read.integer('FARETRAIL_DELIVERY_MAX_KB', { min: 1, max: 256 }) ?? shares.body.kilobytes,
    /** For accounts that set none of their own. */
    poll,
    /** A longer `Retry-After` of the service is cut to it. */
    retryAfterMaxMs: read.integer('FARETRAIL_RETRY_AFTER_MAX_MS', { min: 1_000, max: 86_400_000 }) ?? defaultMaxWaitMs,
    metricsPort: readMetricsPort(read, 'FARETRAIL_METRICS_PORT'),
    /** Null: the ingress shows its pages for probes and Prometheus where it takes deliveries. */
    ingressMetricsPort: readMetricsPort(read, 'FARETRAIL_INGRESS_METRICS_PORT'),
    logLevel: read.oneOf('FARETRAIL_LOG_LEVEL', logLevels) ?? 'info',
  };
  // While the accounts file cannot be read, the variables that it names are not known.
  if (secretVariables) read.refuseUnknown(secretVariables);
  return Object.freeze(settings);
}

const readPublicUrls = (read: EnvReader): readonly string[] =>
  (read.list('FARETRAIL_PUBLIC_URL', (entry) => (toWebAddress(entry) === undefined ? webAddressRule : null)) ?? []).map(
    (entry) => toWebAddress(entry) ?? '',
  );

const readMetricsPort = (read: EnvReader, name: string): number | null =>
  read.text(name) === 'off' ? null : (read.port(name) ?? null);

function readDeliveriesPerSecond(read: EnvReader): number | null {
  const name = 'FARETRAIL_DELIVERIES_PER_SECOND';
  if (read.text(name) === 'off') return null;
  return read.integer(name, { min: 1, max: 1_000_000 }) ?? shares.address.perSecond;
}

/** With 0 Node trusts any certificate: of the service, a provider of sign-ins, a receiver, a proxy, Temporal, a collector of traces. */
const uncheckedTls = 'NODE_TLS_REJECT_UNAUTHORIZED';
const useOwnAuthority = 'unset it; for an authority of your own set NODE_EXTRA_CA_CERTS to its certificate';

function readProfile(read: EnvReader): ContractProfile {
  const name = 'FARETRAIL_CONTRACT_FILE';
  const file = read.jsonFile(name);
  if (!file) return defaultContractProfile;
  try {
    return parseContractProfile(file.json);
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error;
    read.refuse(name, error.message);
    return defaultContractProfile;
  }
}

/** The pace of polls where no setting says another one. Milliseconds. */
export const defaultCadence = Object.freeze({ activeMs: 10_000, reservedMs: 300_000, pushedMs: 300_000 });

function readPoll(read: EnvReader): Required<Cadence> {
  const range = { min: 100, max: 86_400_000 };
  return Object.freeze({
    activeMs: read.integer('FARETRAIL_POLL_ACTIVE_MS', range) ?? defaultCadence.activeMs,
    reservedMs: read.integer('FARETRAIL_POLL_RESERVED_MS', range) ?? defaultCadence.reservedMs,
    pushedMs: read.integer('FARETRAIL_POLL_PUSHED_MS', range) ?? defaultCadence.pushedMs,
  });
}

/** Who holds one kind of key must not be able to use another: the ingress the webhook keys, receivers the notify secrets,
 *  callers and codec endpoints the payload keys. */
function readSecrets(read: EnvReader) {
  return {
    sealingKeys: read.keyRing('FARETRAIL_SEALING_KEYS'),
    webhookKeys: read.keyRing('FARETRAIL_WEBHOOK_KEYS'),
    notify: readNotify(read),
    payloads: read.payloadEncryption(),
  };
}

/** Which URLs may be told of changes, and with which secrets. Problems name entries by position only. */
function readNotify(read: EnvReader) {
  const allowsPrivate = read.oneOf('FARETRAIL_NOTIFY_PRIVATE', ['true', 'false']) === 'true';
  return Object.freeze({
    /** As `URL` writes them, such as `https://orders.example.com`. Empty: none. */
    origins: readNotifyOrigins(read, allowsPrivate),
    /** Each receiver gets secrets of its own made from these. */
    secrets: read.keyRing('FARETRAIL_NOTIFY_SECRETS', signingForm),
    allowsPrivate,
  });
}

const loopbackRule = 'is a loopback address; set FARETRAIL_NOTIFY_PRIVATE=true, or remove it';

function readNotifyOrigins(read: EnvReader, allowsPrivate: boolean): readonly string[] {
  const entries = read.list('FARETRAIL_NOTIFY_ORIGINS', (entry) => {
    const origin = toOrigin(entry);
    if (origin === undefined) return originRule;
    if (allowsPrivate || !origin.startsWith('http:')) return null;
    return loopbackRule;
  });
  return Object.freeze((entries ?? []).flatMap((entry) => toOrigin(entry) ?? []));
}

/** Where the codec endpoint listens, and whom it answers. */
export type CodecSettings = ReturnType<typeof readCodec>;

/** The UI of a local server, by both of its names. */
const localUi = ['http://localhost:8233', 'http://127.0.0.1:8233'];
/** RFC 6750 section 2.1; too long to be guessed. */
const tokenPattern = /^[A-Za-z0-9._~+/=-]{32,512}$/;
const tokenRule = 'must have 32 to 512 letters, digits, ".", "_", "~", "+", "/", "=" or "-"';

/** Reads `FARETRAIL_CODEC_*`. */
function readCodec(read: EnvReader) {
  const [hostName, tokenName] = ['FARETRAIL_CODEC_HOST', 'FARETRAIL_CODEC_TOKEN'] as const;
  const host = read.host(hostName);
  const isLoopback = /^(127(\.\d{1,3}){3}|::1)$/.test(host); // `localhost` may be made to mean something else
  if (!isLoopback && !read.isSecretSet(tokenName))
    read.refuse(tokenName, `missing; without one everybody who reaches ${hostName} can have payloads decrypted`);
  const token = read.secret(tokenName);
  if (token && !tokenPattern.test(token.value)) read.refuse(token.setBy, `the token ${tokenRule}`);
  const origins = read.list('FARETRAIL_CODEC_ORIGINS', (entry) =>
    isOrigin(entry) ? null : 'must be an origin such as https://temporal.example.com',
  );
  const settings = {
    host,
    /** 0 takes any free port. */
    port: read.port('FARETRAIL_CODEC_PORT') ?? 8481,
    /** Of the pages that may ask, such as `https://temporal.example.com`: those of the Temporal UI. */
    origins: Object.freeze(origins ?? localUi),
  };
  // What callers must show as a bearer token; null: nothing.
  return Object.freeze(withHidden(settings, 'token', token?.value ?? null));
}

const isOrigin = (text: string): boolean =>
  /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text;
