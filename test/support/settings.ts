import { randomBytes } from 'node:crypto';
import { mayBeInFile, settings } from '../../src/settings/list.js';
import { jsonFile, textFile } from './json-file.js';

const newKey = () => `k1:${randomBytes(32).toString('base64url')}`;

/** What each setting may hold. Most are good for every program at the same time; `TEMPORAL_*` lead nowhere. */
const goodByKind = {
  url: 'https://place.example',
  host: '127.0.0.1',
  port: '0',
  number: '1000',
  list: 'place.example',
};
const good: Readonly<Record<string, string>> = {
  FARETRAIL_PARTNER_CLIENT_ID: 'partner-id',
  FARETRAIL_PARTNER_CLIENT_SECRET: 'partner-secret',
  FARETRAIL_BUSINESS_CLIENT_ID: 'business-id',
  FARETRAIL_BUSINESS_CLIENT_SECRET: 'business-secret',
  FARETRAIL_BUSINESS_ID: '7b0c1d7e-5a53-4d7e-9d0c-1f2a3b4c5d6e',
  FARETRAIL_ACCOUNTS_FILE: jsonFile({ accounts: {} }),
  FARETRAIL_CONTRACT_FILE: jsonFile({}),
  FARETRAIL_TASK_QUEUE: 'rides',
  FARETRAIL_DELIVERY_MAX_KB: '32',
  FARETRAIL_ENCRYPT_PAYLOADS: 'true',
  FARETRAIL_PUBLIC_URL: 'https://rides.example, https://other.example/base',
  FARETRAIL_NOTIFY_ORIGINS: 'https://receiver.example',
  FARETRAIL_NOTIFY_PRIVATE: 'true',
  FARETRAIL_WATCH: 'on',
  FARETRAIL_STORE_URL: 'postgresql://user:password@127.0.0.1:1/rides',
  PGSSLMODE: 'disable',
  FARETRAIL_DESK_CLIENT_ID: 'desk-id',
  FARETRAIL_DESK_CLIENT_SECRET: 'desk-secret',
  FARETRAIL_DESK_ROLES_CLAIM: 'roles',
  FARETRAIL_DESK_ROLES: 'view:desk-view',
  FARETRAIL_CODEC_ORIGINS: 'https://ui.example',
  FARETRAIL_CODEC_TOKEN: 'a'.repeat(40),
  FARETRAIL_LOG_LEVEL: 'info',
  HTTPS_PROXY: 'http://user:password@proxy.example:3128',
  OTEL_TRACES_EXPORTER: 'none',
  TEMPORAL_ADDRESS: '127.0.0.1:1',
  TEMPORAL_NAMESPACE: 'default',
  TEMPORAL_API_KEY: 'api-key',
  TEMPORAL_TLS: 'false',
  TEMPORAL_TLS_SERVER_NAME: 'temporal.example',
  TEMPORAL_CONFIG_FILE: textFile('[profile.rides]\n'),
  TEMPORAL_PROFILE: 'rides',
  TEMPORAL_DEPLOYMENT_NAME: 'faretrail',
  TEMPORAL_WORKER_BUILD_ID: '1.4.0',
};
const pem = textFile('-----BEGIN CERTIFICATE-----\n');

/** A value that the setting may have. */
function goodValue(name: string): string {
  const { kind } = settings[name] ?? { kind: 'text' };
  if (kind === 'keys') return newKey();
  if (kind === 'file' && name.startsWith('TEMPORAL_TLS_')) return good[name] ?? pem;
  return good[name] ?? goodByKind[kind as keyof typeof goodByKind] ?? 'unknown';
}

/** An environment in which every setting is good, those in files in files where `inFiles`. */
export function goodEnv(journal: string, inFiles: readonly string[] = []): Record<string, string> {
  const entries = Object.entries(settings).flatMap(([name, setting]): [string, string][] => {
    const value = name === 'FARETRAIL_JOURNAL_DIR' ? journal : goodValue(name);
    return mayBeInFile(setting) && inFiles.includes(name) ? [[`${name}_FILE`, textFile(value)]] : [[name, value]];
  });
  return Object.fromEntries(entries);
}

/** How a value may have been spoilt on its way into the environment. Null: there it is absent. */
export const spoilt: Readonly<Record<string, (value: string) => string | null>> = {
  absent: () => null,
  empty: () => '',
  'with a byte order mark': (value) => `\ufeff${value}`,
  'with a carriage return': (value) => `${value}\r`,
  'in quotes': (value) => `"${value}"`,
  'in single quotes': (value) => `'${value}'`,
  'with a control character': (value) => `${value.slice(0, 3)}\u0007${value.slice(3)}`,
};
