import type { ContractProfile } from './contracts/contract-profile.js';
import { defaultContractProfile, parseContractProfile } from './contracts/default-contract-profile.js';
import type { Account, Cadence } from './domain/account.js';
import { FaretrailError, InvalidInput } from './domain/errors.js';
import { defaultWatch, noWatch } from './domain/order/concern.js';
import { defaultTaskQueue } from './domain/task-queues.js';
import { isLoopbackAddress, originRule, toOrigin } from './domain/web-address.js';
import { defaultMaxWaitMs } from './ride-api/refusal.js';
import { type KeyRing, keyRecipe, sharesKey, signingForm } from './sealing/key-ring.js';
import type { PayloadEncryption } from './sealing/payload-codec.js';
import { type AccountSettings, hasSecret, readAccounts } from './settings/accounts.js';
import { type CodecSettings, readCodecSettings, readPayloadEncryption } from './settings/codec.js';
import {
  createEnvReader,
  type Env,
  type EnvReader,
  findUnknownSettings,
  type ReadFile,
  readFileFromDisk,
  type SettingsSource,
} from './settings/env-reader.js';

/** Which version of which worker deployment a worker is (Temporal's Worker Versioning). */
interface DeploymentVersion {
  readonly deploymentName: string;
  readonly buildId: string;
}

const nameSetting = 'TEMPORAL_DEPLOYMENT_NAME';
const buildIdSetting = 'TEMPORAL_WORKER_BUILD_ID';

/** Reads both settings; null: not versioned. A build id alone is no mistake, since every image has one. */
function readDeployment(read: EnvReader): DeploymentVersion | null {
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

/** The address of the store; `none`: this process has none; `off`: there is none any more, and changes that wait for one are dropped. */
type StoreSetting = { url: string } | 'none' | 'off';

/** Reads `FARETRAIL_STORE_URL`, which holds a password. */
function readStore(read: EnvReader): StoreSetting {
  const found = read.secret('FARETRAIL_STORE_URL');
  if (found === undefined) return 'none';
  if (found.value === 'off') return 'off';
  const url = URL.canParse(found.value) ? new URL(found.value) : null;
  if (!url || !/^postgres(ql)?:$/.test(url.protocol) || !url.hostname || !/^\/[^/]+$/.test(url.pathname)) {
    read.refuse(found.setBy, 'must be postgresql://USER:PASSWORD@HOST:PORT/DATABASE, or off');
    return 'none';
  }
  return Object.defineProperty({ url: '' }, 'url', { value: found.value, enumerable: false });
}

/** How spans are sent. */
export type TraceProtocol = 'http/protobuf' | 'http/json';

/** How traces are sent; null: not at all. The library reads the rest of the standard `OTEL_*` variables by itself. */
export function readTracing(source: SettingsSource): TraceProtocol | null {
  const read = createEnvReader(source);
  const exporter = read.oneOf('OTEL_TRACES_EXPORTER', ['otlp', 'none']);
  if (exporter !== 'otlp' || read.text('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return null;
  const name = ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL'].find((one) => read.text(one));
  const protocol = name && read.text(name);
  if (name === undefined || protocol === 'http/protobuf') return 'http/protobuf';
  if (protocol !== 'http/json')
    read.refuse(name, 'must be http/protobuf or http/json; collectors take them on port 4318, not on 4317');
  return 'http/json';
}

export type { Env, ReadFile } from './settings/env-reader.js';

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

export type LogLevel = (typeof logLevels)[number];

/** Which URLs may be told of changes, and with which secrets. */
interface NotifySettings {
  /** As `URL` writes them, such as `https://orders.example.com`. Empty: none. */
  readonly origins: readonly string[];
  /** Each receiver gets secrets of its own made from these. */
  readonly secrets: KeyRing | null;
  readonly allowsPrivate: boolean;
}

/** The settings of a process that sends no notices. */
const noNotify: NotifySettings = Object.freeze({ origins: [], secrets: null, allowsPrivate: false });

/** Every setting that needs no upstream credentials. `null` means off or not set. */
export interface CliConfig {
  readonly accounts: readonly AccountSettings[];
  readonly profile: ContractProfile;
  readonly taskQueue: string;
  /** `null`: workers are not versioned. */
  readonly deployment: DeploymentVersion | null;
  readonly sealingKeys: KeyRing | null;
  readonly webhookKeys: KeyRing | null;
  readonly notify: NotifySettings;
  readonly payloads: PayloadEncryption;
  readonly codec: CodecSettings;
  readonly store: StoreSetting;
  /** Without a trailing slash. */
  readonly publicUrl: string | null;
  readonly ingressHost: string;
  /** 0 takes any free port. */
  readonly ingressPort: number;
  /** `null`: the journal is switched off. */
  readonly journalDir: string | null;
  readonly journalMaxMb: number;
  /** What one address may send; `null`: any number. */
  readonly deliveriesPerSecond: number | null;
  /** How many orders of an account that deliveries started may be unread; `null`: any number. */
  readonly newOrdersAtOnce: number | null;
  /** How many deliveries of an account may be parked at a time; `null`: any number. */
  readonly parkedAtMost: number | null;
  /** For accounts that set none of their own. */
  readonly poll: Cadence;
  /** A longer `Retry-After` of the service is cut to it. */
  readonly retryAfterMaxMs: number;
  readonly metricsPort: number | null;
  /** `null`: the ingress shows its pages for probes and Prometheus where it takes deliveries. */
  readonly ingressMetricsPort: number | null;
  readonly logLevel: LogLevel;
}

/** `CliConfig` with the credentials. Secrets and keys are not enumerable, so printing or logging it shows none. */
export interface Config extends CliConfig {
  readonly accounts: readonly Account[];
}

/** What a worker cannot do without is there. */
export interface WorkerConfig extends Config {
  readonly accounts: readonly [Account, ...Account[]];
  readonly sealingKeys: KeyRing;
  readonly traces: TraceProtocol | null;
}

/** What an ingress cannot do without is there. It spends no credentials: no client secret, and no key that opens tokens. */
export interface IngressConfig extends CliConfig {
  readonly accounts: readonly [AccountSettings, ...AccountSettings[]];
  readonly sealingKeys: null;
  readonly webhookKeys: KeyRing;
  readonly traces: TraceProtocol | null;
}

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
export function loadConfig(env: Env, readFile: ReadFile = readFileFromDisk): Config {
  const problems: string[] = [];
  const settings = readSettings({ env, readFile, problems }, { withSecrets: true });
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze({ ...settings, accounts: settings.accounts.filter(hasSecret) });
}

/** The settings of a worker: at least one account, and the keys that seal its tokens. Throws `ConfigError`. */
export function loadWorkerConfig(env: Env, readFile: ReadFile = readFileFromDisk): WorkerConfig {
  const problems: string[] = [];
  const settings = readSettings({ env, readFile, problems }, { withSecrets: true });
  const [first, ...rest] = settings.accounts.filter(hasSecret);
  const { sealingKeys } = settings;
  requireAccount(first, problems);
  requireKeys('FARETRAIL_SEALING_KEYS', sealingKeys, problems);
  const traces = readTracing({ env, readFile, problems });
  if (settings.notify.origins.length > 0) requireKeys('FARETRAIL_NOTIFY_SECRETS', settings.notify.secrets, problems);
  if (problems.length > 0 || !first || !sealingKeys) throw new ConfigError(problems);
  const accounts: WorkerConfig['accounts'] = [first, ...rest];
  return Object.freeze({ ...settings, accounts, sealingKeys, traces });
}

/** The settings of an ingress: at least one account, and the keys of its addresses. No client secret is looked up, and
 *  what only a worker uses is checked and left out. Throws `ConfigError`. */
export function loadIngressConfig(env: Env, readFile: ReadFile = readFileFromDisk): IngressConfig {
  const problems: string[] = [];
  const settings = readSettings({ env, readFile, problems }, { withSecrets: false });
  const [first, ...rest] = settings.accounts;
  const { webhookKeys } = settings;
  requireAccount(first, problems);
  requireKeys('FARETRAIL_WEBHOOK_KEYS', webhookKeys, problems);
  const traces = readTracing({ env, readFile, problems });
  if (problems.length > 0 || !first || !webhookKeys) throw new ConfigError(problems);
  const accounts: IngressConfig['accounts'] = [first, ...rest];
  return Object.freeze({ ...settings, accounts, sealingKeys: null, notify: noNotify, webhookKeys, traces });
}

// A problem with the value says more than "missing".
const isTold = (problems: readonly string[], names: RegExp): boolean => problems.some((problem) => names.test(problem));

function requireAccount(first: AccountSettings | undefined, problems: string[]): void {
  if (!first && !isTold(problems, /^FARETRAIL_(PARTNER_|BUSINESS_|ACCOUNTS_FILE:)/))
    problems.push('FARETRAIL_ACCOUNTS_FILE: no account; set it, FARETRAIL_PARTNER_* or FARETRAIL_BUSINESS_*');
}

function requireKeys(name: string, keys: KeyRing | null, problems: string[]): void {
  if (!keys && !isTold(problems, new RegExp(`^${name}(_FILE)?:`)))
    problems.push(`${name}: missing; make one with: ${keyRecipe}`);
}

/** The settings of the CLI: nothing is required, and no client secret is looked up. Throws `ConfigError`. */
export function loadCliConfig(env: Env, readFile: ReadFile = readFileFromDisk): CliConfig {
  const problems: string[] = [];
  const settings = readSettings({ env, readFile, problems }, { withSecrets: false });
  if (problems.length > 0) throw new ConfigError(problems);
  return settings;
}

function readSettings(source: SettingsSource, { withSecrets }: { withSecrets: boolean }): CliConfig {
  const read = createEnvReader(source);
  const profile = readProfile(read);
  const poll = readPoll(read);
  const requestsPerSecond = profile.limits.requestsPerSecond;
  const watch = read.oneOf('FARETRAIL_WATCH', ['on', 'off']) === 'off' ? noWatch : defaultWatch;
  const { accounts, secretVariables } = readAccounts(read, { poll, watch, requestsPerSecond, withSecrets });
  const elsewhere = accounts.filter((account) => ![account.baseUrl, account.authUrl].every(isLoopbackAddress));
  if (read.text(uncheckedTls) === '0' && elsewhere.length > 0) read.refuse(uncheckedTls, useOwnAuthority);
  const journalDir = read.text('FARETRAIL_JOURNAL_DIR') ?? '.faretrail/journal';
  const settings: CliConfig = {
    accounts,
    profile,
    taskQueue:
      read.matching('FARETRAIL_TASK_QUEUE', /^[^\s\p{C}]{1,200}$/u, 'must be 1 to 200 characters without blanks') ??
      defaultTaskQueue,
    deployment: readDeployment(read),
    ...readSecrets(read),
    codec: readCodecSettings(read),
    store: readStore(read),
    publicUrl: read.baseUrl('FARETRAIL_PUBLIC_URL') ?? null,
    ingressHost:
      read.matching('FARETRAIL_INGRESS_HOST', /^[A-Za-z0-9.:_-]{1,253}$/, 'must be a host name or an IP address') ??
      '127.0.0.1',
    ingressPort: read.port('FARETRAIL_INGRESS_PORT') ?? 8480,
    journalDir: journalDir === 'off' ? null : journalDir,
    journalMaxMb: read.integer('FARETRAIL_JOURNAL_MAX_MB', { min: 1, max: 1_048_576 }) ?? 1024,
    deliveriesPerSecond: readLimit(read, 'FARETRAIL_DELIVERIES_PER_SECOND', 100),
    newOrdersAtOnce: readLimit(read, 'FARETRAIL_NEW_ORDERS_AT_ONCE', 20),
    parkedAtMost: readLimit(read, 'FARETRAIL_PARKED_AT_MOST', 10_000),
    poll,
    retryAfterMaxMs: read.integer('FARETRAIL_RETRY_AFTER_MAX_MS', { min: 1_000, max: 86_400_000 }) ?? defaultMaxWaitMs,
    metricsPort: readMetricsPort(read, 'FARETRAIL_METRICS_PORT'),
    ingressMetricsPort: readMetricsPort(read, 'FARETRAIL_INGRESS_METRICS_PORT'),
    logLevel: read.oneOf('FARETRAIL_LOG_LEVEL', logLevels) ?? 'info',
  };
  // Every setting has been looked up by now. While the accounts file cannot be read, the variables that it names are not known.
  if (secretVariables) source.problems.push(...findUnknownSettings(source.env, read.names, secretVariables));
  return Object.freeze(settings);
}

const readMetricsPort = (read: EnvReader, name: string): number | null =>
  read.text(name) === 'off' ? null : (read.port(name) ?? null);

const readLimit = (read: EnvReader, name: string, byDefault: number): number | null =>
  read.text(name) === 'off' ? null : (read.integer(name, { min: 1, max: 1_000_000 }) ?? byDefault);

/** Node then trusts any certificate, so anybody on the way reads client secrets and tokens. */
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
export const defaultCadence: Required<Cadence> = Object.freeze({
  activeMs: 10_000,
  reservedMs: 300_000,
  pushedMs: 300_000,
});

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
function readSecrets(read: EnvReader): Pick<CliConfig, 'sealingKeys' | 'webhookKeys' | 'notify' | 'payloads'> {
  const rings: [name: string, ring: KeyRing][] = [];
  const apart = (name: string, ring: KeyRing | null): KeyRing | null => {
    const other = ring && rings.find(([, before]) => sharesKey(ring, before));
    if (other) read.refuse(name, `holds a key of ${other[0]}; make its own with: ${keyRecipe}`);
    if (ring) rings.push([name, ring]);
    return ring;
  };
  const sealingKeys = apart('FARETRAIL_SEALING_KEYS', read.keyRing('FARETRAIL_SEALING_KEYS') ?? null);
  const webhookKeys = apart('FARETRAIL_WEBHOOK_KEYS', read.keyRing('FARETRAIL_WEBHOOK_KEYS') ?? null);
  const notify = readNotify(read);
  apart('FARETRAIL_NOTIFY_SECRETS', notify.secrets);
  const payloads = readPayloadEncryption(read);
  apart('FARETRAIL_PAYLOAD_KEYS', payloads.keys);
  return { sealingKeys, webhookKeys, notify, payloads };
}

/** Reads `FARETRAIL_NOTIFY_*`. Problems name entries by position only. */
function readNotify(read: EnvReader): NotifySettings {
  const allowsPrivate = read.oneOf('FARETRAIL_NOTIFY_PRIVATE', ['true', 'false']) === 'true';
  return Object.freeze({
    origins: readNotifyOrigins(read, allowsPrivate),
    secrets: read.keyRing('FARETRAIL_NOTIFY_SECRETS', signingForm) ?? null,
    allowsPrivate,
  });
}

function readNotifyOrigins(read: EnvReader, allowsPrivate: boolean): readonly string[] {
  const entries = read.list('FARETRAIL_NOTIFY_ORIGINS', (entry) => {
    const origin = toOrigin(entry);
    if (origin === undefined) return originRule;
    if (allowsPrivate || !origin.startsWith('http:')) return null;
    return 'is a loopback address; set FARETRAIL_NOTIFY_PRIVATE=true, or remove it';
  });
  return Object.freeze((entries ?? []).flatMap((entry) => toOrigin(entry) ?? []));
}
