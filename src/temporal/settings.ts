import type { DataConverter } from '@temporalio/common';
import { type ClientConnectConfig, loadClientConfigProfile, toClientOptions } from '@temporalio/envconfig';
import { FaretrailError } from '../domain/errors.js';
import { toDataConverter } from '../sealing/data-converter.js';
import { type Env, EnvReader } from '../settings/env-reader.js';

export type TemporalConnectionErrorCode =
  | 'TemporalSettingsInvalid'
  | 'TemporalUnreachable'
  | 'TemporalTlsFailed'
  | 'TemporalRefused';

/**
 * There is no connection to Temporal: its settings cannot be read, nothing answers, one side does not trust the certificate
 * of the other, or it refuses our credentials. The message names the setting and the remedy, never a value. Not for a
 * connection that is lost later.
 */
export class TemporalConnectionError extends FaretrailError<TemporalConnectionErrorCode> {
  override readonly name = 'TemporalConnectionError';
}

/** A server of Temporal and a namespace there. */
export interface TemporalPlace {
  namespace: string;
  address: string;
  /** How payloads are written and read there; for every client and worker. */
  dataConverter: DataConverter;
}

export const defaultAddress = 'localhost:7233';

/** Reads the `TEMPORAL_*` settings; by default `localhost:7233` and namespace `default`. Throws `TemporalConnectionError`. */
export function loadTemporalSettings(
  env: Env,
): TemporalPlace & { connectionOptions: ClientConnectConfig['connectionOptions'] } {
  const read = new EnvReader(env);
  const encryption = read.payloadEncryption();
  // The library takes each value as it is; certificates and keys as text have lines.
  for (const name of Object.keys(env)) if (/^TEMPORAL_(?!.*_DATA$)/.test(name)) read.text(name);
  const { connectionOptions, namespace = 'default' } = loadProfile(read, env);
  const { address = defaultAddress, apiKey, tls } = connectionOptions;
  const serverName = typeof tls === 'object' ? tls?.serverNameOverride : undefined;
  for (const [name, value, isFit, rule] of [
    ['TEMPORAL_ADDRESS', address, isAddress, addressRule],
    ['TEMPORAL_NAMESPACE', namespace, isNamespace, namespaceRule],
    ['TEMPORAL_API_KEY', apiKey, isToken, 'must have letters, digits, ".", "_", "~", "+", "/", "=" or "-" alone'],
    ['TEMPORAL_TLS_SERVER_NAME', serverName, isHost, 'must be a host name'],
  ] as const)
    if (typeof value === 'string' && !isFit(value)) read.refuse(name, rule);
  if (read.problems.length > 0) throw invalid(read.problems);
  const place = { address, namespace, dataConverter: toDataConverter(encryption) };
  return { ...place, connectionOptions: { ...connectionOptions, address } };
}

const invalid = (problems: readonly string[]) =>
  new TemporalConnectionError(
    'TemporalSettingsInvalid',
    `settings to correct:\n${problems.map((problem) => `  ${problem}`).join('\n')}`,
  );

/** Does a text name a server, such as `temporal.example.com:7233`? */
export const isAddress = (text: string): boolean =>
  /^([\w.-]+|\[[\da-f:.]+\])(:(?!0+$)\d{1,5})?$/i.test(text) && URL.canParse(`http://${text}`); // checks the port
export const addressRule = 'must be a host with its port, such as temporal.example.com:7233';
export const isNamespace = (text: string): boolean => /^[^\s\p{C}"']{1,255}$/u.test(text);
export const namespaceRule = 'must be a name without blanks and quotes';
/** RFC 6750 section 2.1. */
const isToken = (text: string): boolean => /^[A-Za-z0-9._~+/-]+=*$/.test(text);
const isHost = (text: string): boolean => /^[A-Za-z0-9.:_-]{1,253}$/.test(text);

/** The parts of TLS that are PEM text: each in a variable, or in a file that a variable names. */
const pemSettings = {
  serverCACert: 'TEMPORAL_TLS_SERVER_CA_CERT',
  clientCert: 'TEMPORAL_TLS_CLIENT_CERT',
  clientKey: 'TEMPORAL_TLS_CLIENT_KEY',
} as const;

type Profile = ReturnType<typeof loadClientConfigProfile>;

/** The profile, with the variables over it. */
function loadProfile(read: EnvReader, env: Env): ClientConnectConfig {
  read.oneOf('TEMPORAL_TLS', ['true', 'false', '1', '0']); // the library takes every other word for false
  const pem = Object.fromEntries(
    Object.entries(pemSettings).flatMap(([part, name]) => {
      const data = readPem(read, env, name);
      return data === undefined ? [] : [[part, { data }]];
    }),
  );
  const profile = readProfile(read, env);
  const tls = { ...profile.tls, ...pem };
  // The library would ignore one without the other, and the server would refuse us without saying why.
  const missing = tls.clientCert ? pemSettings.clientKey : pemSettings.clientCert;
  if (read.problems.length === 0 && !tls.clientCert !== !tls.clientKey)
    read.refuse(`${missing}_PATH`, 'missing; a client certificate needs its key, and a key its certificate');
  try {
    return toClientOptions({ ...profile, ...(Object.keys(tls).length > 0 ? { tls } : {}) });
  } catch (error) {
    const { code = 'no reason given' } = error as NodeJS.ErrnoException;
    read.refuse('TEMPORAL_CONFIG_FILE', `a file that the profile names cannot be read (${code})`);
    throw invalid(read.problems);
  }
}

/** Files of environment variables hold one line each, so the line ends of PEM come as `\\n` in letters. */
const withLineEnds = (pem: string): string => pem.replaceAll(/(?:\\r)?\\n/g, '\n');

function readPem(read: EnvReader, env: Env, name: string): Buffer | undefined {
  const [data, path] = [env[`${name}_DATA`], read.text(`${name}_PATH`)];
  if (data && path !== undefined) return read.refuse(`${name}_DATA`, `set together with ${name}_PATH`);
  const setBy = path === undefined ? `${name}_DATA` : `${name}_PATH`;
  const pem = path === undefined ? withLineEnds(data ?? '') : read.textFile(setBy, path);
  if (pem === undefined || (pem === '' && path === undefined)) return undefined;
  if (pem.includes('-----BEGIN ')) return Buffer.from(pem);
  return read.refuse(setBy, 'holds no PEM text, which begins with -----BEGIN');
}

/** Errors of the library show paths, names of profiles, and lines of the file, which may hold the API key. */
function readProfile(read: EnvReader, env: Env): Profile {
  const ours = new Set(Object.values(pemSettings).flatMap((name) => [`${name}_DATA`, `${name}_PATH`]));
  // Empty is unset, as everywhere in our settings; the library would connect to the empty address.
  const isGiven = (entry: [string, string | undefined]): entry is [string, string] => Boolean(entry[1]);
  const given = Object.entries(env).filter(isGiven);
  const overrideEnvVars = Object.fromEntries(given.filter(([name]) => !ours.has(name)));
  try {
    return loadClientConfigProfile({ overrideEnvVars });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const isAsked = Boolean(env.TEMPORAL_CONFIG_FILE || env.TEMPORAL_PROFILE);
    // In a container the home may be that of another user; a file that is not there is no mistake either.
    if (code !== undefined && !isAsked) return loadClientConfigProfile({ overrideEnvVars, disableFile: true });
    if (code !== undefined) read.refuse('TEMPORAL_CONFIG_FILE', `the file cannot be read (${code})`);
    else if ((error as Error).message.endsWith(' not found in config data'))
      read.refuse('TEMPORAL_PROFILE', 'there is no such profile in the file; see TEMPORAL_CONFIG_FILE');
    else read.refuse('TEMPORAL_CONFIG_FILE', 'the file is not valid TOML; check it with a TOML linter');
    throw invalid(read.problems);
  }
}
