/** The processes, and the commands, which are one program. */
export type Program = 'worker' | 'ingress' | 'desk' | 'commands';

/** What a setting holds. A `secret` and `keys` may also stand in the file that `<name>_FILE` names. */
export type SettingKind =
  | 'text'
  | 'word'
  | 'number'
  | 'port'
  | 'host'
  | 'address'
  | 'url'
  | 'list'
  | 'file'
  | 'folder'
  | 'secret'
  | 'keys';

interface Setting {
  kind: SettingKind;
  /** What uses it. Every program checks all of its own `FARETRAIL_*` variables, also those that only others use. */
  by: readonly Program[];
  /** For the help of a process. */
  does: string;
}

const worker = ['worker'] as const;
const ingress = ['ingress'] as const;
const desk = ['desk'] as const;
const commands = ['commands'] as const;
const accounts = ['worker', 'ingress', 'commands'] as const;
const all = ['worker', 'ingress', 'desk', 'commands'] as const;

/** Every setting, in the order of the help. docs/reference/settings.md explains them; `test/structure` compares the two and the code. */
export const settings: Readonly<Record<string, Setting>> = {
  FARETRAIL_PARTNER_BASE_URL: { kind: 'url', by: accounts, does: 'base URL of the partner interface' },
  FARETRAIL_PARTNER_CLIENT_ID: { kind: 'text', by: accounts, does: 'client id of the account partner' },
  FARETRAIL_PARTNER_CLIENT_SECRET: { kind: 'secret', by: worker, does: 'its client secret' },
  FARETRAIL_BUSINESS_BASE_URL: { kind: 'url', by: accounts, does: 'base URL of the business interface' },
  FARETRAIL_BUSINESS_AUTH_URL: { kind: 'url', by: worker, does: 'where its tokens come from' },
  FARETRAIL_BUSINESS_CLIENT_ID: { kind: 'text', by: accounts, does: 'client id of the account business' },
  FARETRAIL_BUSINESS_CLIENT_SECRET: { kind: 'secret', by: worker, does: 'its client secret' },
  FARETRAIL_BUSINESS_ID: { kind: 'text', by: accounts, does: 'UUID of the company' },
  FARETRAIL_ACCOUNTS_FILE: { kind: 'file', by: accounts, does: 'JSON file with any number of accounts' },
  FARETRAIL_CONTRACT_FILE: { kind: 'file', by: accounts, does: 'changes to the contract profile' },
  FARETRAIL_TASK_QUEUE: { kind: 'text', by: all, does: 'task queue of the workflows' },
  FARETRAIL_SEALING_KEYS: { kind: 'keys', by: worker, does: 'seal access tokens' },
  FARETRAIL_WEBHOOK_KEYS: { kind: 'keys', by: accounts, does: 'make webhook addresses' },
  FARETRAIL_PAYLOAD_KEYS: { kind: 'keys', by: all, does: 'encrypt payloads' },
  FARETRAIL_ENCRYPT_PAYLOADS: { kind: 'word', by: all, does: 'true: payloads are encrypted' },
  FARETRAIL_NOTIFY_ORIGINS: { kind: 'list', by: worker, does: 'where notices may go' },
  FARETRAIL_NOTIFY_SECRETS: { kind: 'keys', by: worker, does: 'sign notices' },
  FARETRAIL_NOTIFY_PRIVATE: { kind: 'word', by: worker, does: 'true: also to private addresses' },
  FARETRAIL_POLL_ACTIVE_MS: { kind: 'number', by: worker, does: 'time between two polls of an order' },
  FARETRAIL_POLL_RESERVED_MS: { kind: 'number', by: worker, does: 'the same long before the pick-up' },
  FARETRAIL_POLL_PUSHED_MS: { kind: 'number', by: worker, does: 'the same while deliveries come' },
  FARETRAIL_RETRY_AFTER_MAX_MS: { kind: 'number', by: worker, does: 'cuts a longer Retry-After' },
  FARETRAIL_WATCH: { kind: 'word', by: worker, does: 'off: no attention about rides' },
  FARETRAIL_PUBLIC_URL: {
    kind: 'list',
    by: ['worker', 'ingress', 'commands'],
    does: 'where the service reaches the ingress',
  },
  FARETRAIL_INGRESS_HOST: { kind: 'host', by: ingress, does: 'where the ingress listens' },
  FARETRAIL_INGRESS_PORT: { kind: 'port', by: ingress, does: 'its port' },
  FARETRAIL_INGRESS_METRICS_PORT: { kind: 'port', by: ingress, does: 'port of its metrics and health pages' },
  FARETRAIL_DELIVERIES_PER_SECOND: { kind: 'number', by: ingress, does: 'limit of one webhook address' },
  FARETRAIL_DELIVERY_MAX_KB: { kind: 'number', by: ingress, does: 'largest body of a delivery' },
  FARETRAIL_JOURNAL_DIR: { kind: 'folder', by: ingress, does: 'folder of the journal' },
  FARETRAIL_JOURNAL_MAX_MB: { kind: 'number', by: ingress, does: 'its size limit' },
  FARETRAIL_STORE_URL: { kind: 'secret', by: ['worker', 'desk', 'commands'], does: 'PostgreSQL that keeps changes' },
  PGSSLMODE: { kind: 'word', by: ['worker', 'desk', 'commands'], does: 'sslmode, if the address has none' },
  FARETRAIL_DESK_HOST: { kind: 'host', by: desk, does: 'where the desk listens' },
  FARETRAIL_DESK_PORT: { kind: 'port', by: desk, does: 'its port' },
  FARETRAIL_DESK_URL: { kind: 'url', by: desk, does: 'its origin as browsers reach it' },
  FARETRAIL_DESK_ISSUER: { kind: 'url', by: desk, does: 'OpenID provider of the sign-in' },
  FARETRAIL_DESK_CLIENT_ID: { kind: 'text', by: desk, does: 'client id of the desk there' },
  FARETRAIL_DESK_CLIENT_SECRET: { kind: 'secret', by: desk, does: 'its client secret' },
  FARETRAIL_DESK_ROLES_CLAIM: { kind: 'text', by: desk, does: 'claim that holds the roles' },
  FARETRAIL_DESK_ROLES: { kind: 'list', by: desk, does: 'which role gives which right' },
  FARETRAIL_DESK_KEYS: { kind: 'keys', by: desk, does: 'seal sessions' },
  FARETRAIL_DESK_TEMPORAL_UI: { kind: 'url', by: desk, does: 'base address for links to runs' },
  FARETRAIL_CODEC_HOST: { kind: 'host', by: commands, does: 'where the codec endpoint listens' },
  FARETRAIL_CODEC_PORT: { kind: 'port', by: commands, does: 'its port' },
  FARETRAIL_CODEC_ORIGINS: { kind: 'list', by: commands, does: 'pages that may use it' },
  FARETRAIL_CODEC_TOKEN: { kind: 'secret', by: commands, does: 'what its callers must send' },
  FARETRAIL_METRICS_PORT: { kind: 'port', by: worker, does: 'port of metrics and health pages' },
  FARETRAIL_LOG_LEVEL: { kind: 'word', by: all, does: 'how much is logged' },
  HTTPS_PROXY: { kind: 'secret', by: ['worker', 'commands'], does: 'proxy to the service' },
  NO_PROXY: { kind: 'text', by: ['worker', 'commands'], does: 'hosts that are called without it' },
  OTEL_TRACES_EXPORTER: { kind: 'word', by: ['worker', 'ingress'], does: 'otlp: sends traces' },
  TEMPORAL_ADDRESS: { kind: 'address', by: all, does: 'the Temporal server' },
  TEMPORAL_NAMESPACE: { kind: 'text', by: all, does: 'its namespace' },
  TEMPORAL_API_KEY: { kind: 'text', by: all, does: 'sent with each call' },
  TEMPORAL_TLS: { kind: 'word', by: all, does: 'true: TLS' },
  TEMPORAL_TLS_SERVER_CA_CERT_PATH: { kind: 'file', by: all, does: 'the only trusted authority' },
  TEMPORAL_TLS_SERVER_NAME: { kind: 'text', by: all, does: "name in the server's certificate" },
  TEMPORAL_TLS_CLIENT_CERT_PATH: { kind: 'file', by: all, does: 'client certificate' },
  TEMPORAL_TLS_CLIENT_KEY_PATH: { kind: 'file', by: all, does: 'its key' },
  TEMPORAL_CONFIG_FILE: { kind: 'file', by: all, does: 'file with profiles of these' },
  TEMPORAL_PROFILE: { kind: 'text', by: all, does: 'the profile to use' },
  TEMPORAL_DEPLOYMENT_NAME: { kind: 'text', by: worker, does: 'worker deployment' },
  TEMPORAL_WORKER_BUILD_ID: { kind: 'text', by: worker, does: 'version of this worker in it' },
};

/** `<name>_FILE` names a file with what the setting holds. */
export const mayBeInFile = ({ kind }: Setting): boolean => kind === 'secret' || kind === 'keys';

/** The settings that a program uses, with what each does. */
export const settingsOf = (program: Program): [name: string, setting: Setting][] =>
  Object.entries(settings).filter(([, { by }]) => by.includes(program));
