import { codeFolders } from './project-files.js';

/** What one part of the project may import. The table is that of the style page, "What may import what". */
export interface Part {
  /** A folder, a file, or `src/*.ts` for the files beside the process files that have no row of their own. */
  part: string;
  /** Files as well as folders; itself goes without saying. A file name may hold one `*`. */
  ours: readonly string[];
  /** In addition, by `import type` alone. */
  oursAsTypes?: readonly string[];
  /** `node` stands for the built-in modules. */
  packages: readonly string[] | 'any';
  /** Exceptions to `ours`. */
  never?: readonly string[];
}

const processes = ['src/worker.ts', 'src/starter.ts', 'src/ingress.ts', 'src/desk.ts'] as const;
const cli = 'src/cli'; // the commands of starter.ts
const config = 'src/config.ts'; // only the processes call `loadConfig`; others import its types
const clock = 'src/clock.ts'; // the only file that reads a clock
const unpacking = 'src/unpacking.ts'; // bodies of answers and of deliveries
/** How every part starts and asks runs. These files import the domain, message definitions, one another, and Temporal's client. */
const runs = ['starts', 'runs', 'run-errors', 'failure-type'].map((name) => `src/temporal/${name}.ts`);

export const importTable: readonly Part[] = [
  { part: 'src/domain', ours: [], packages: [] },
  { part: clock, ours: [], packages: [] },
  { part: unpacking, ours: [], packages: ['node'] },
  { part: 'src/contracts', ours: ['src/domain'], packages: ['zod'] },
  {
    part: 'src/sealing',
    ours: ['src/domain'],
    packages: ['jose', '@temporalio/common', '@temporalio/proto', 'node'],
  },
  { part: 'src/settings', ours: ['src/sealing', 'src/contracts', 'src/domain'], packages: ['zod', 'node'] },
  {
    part: 'src/ride-api',
    ours: [clock, unpacking, 'src/version.ts', 'src/contracts', 'src/domain'],
    packages: ['undici', 'node'],
  },
  {
    part: 'src/notify-http',
    ours: [clock, 'src/version.ts'],
    packages: ['undici', 'ipaddr.js', 'standardwebhooks', 'node'],
  },
  { part: 'src/store', ours: ['src/domain'], packages: ['pg', 'node'] },
  {
    part: 'src/activities',
    ours: [clock, 'src/ride-api', 'src/notify-http', 'src/contracts', 'src/domain', 'src/sealing/sealer.ts'],
    packages: ['@temporalio/activity', '@temporalio/common', 'node', 'tinyqueue'],
  },
  {
    part: 'src/workflows',
    ours: ['src/domain'],
    oursAsTypes: ['src/activities', 'src/contracts'],
    packages: ['@temporalio/workflow', '@temporalio/common'],
  },
  {
    part: 'src/client',
    ours: [
      clock,
      'src/contracts',
      'src/domain',
      ...runs,
      'src/sealing/payload-codec.ts',
      'src/sealing/key-ring.ts',
      'src/workflows/messages.ts',
    ],
    oursAsTypes: ['src/workflows'],
    packages: ['@temporalio/client', '@temporalio/common', 'node', 'p-map'],
  },
  // It is for the workflow code of others: what it loads, workflow code may load.
  {
    part: 'src/client/in-workflow.ts',
    ours: ['src/domain', 'src/temporal/failure-type.ts'],
    packages: ['@temporalio/workflow'],
  },
  {
    part: 'src/webhooks',
    ours: [clock, unpacking, 'src/contracts', 'src/domain', 'src/sealing/sealer.ts'],
    packages: ['fastify', 'lmdb', 'p-map', 'node'],
  },
  // The other side of the ports of activities and webhooks.
  {
    part: 'src/temporal',
    ours: [
      clock,
      'src/settings',
      'src/sealing',
      'src/domain',
      'src/webhooks/delivery-port.ts',
      'src/workflows/messages.ts',
    ],
    oursAsTypes: ['src/activities', 'src/workflows'],
    packages: [
      '@grpc/grpc-js',
      '@temporalio/client',
      '@temporalio/common',
      '@temporalio/envconfig',
      '@temporalio/worker',
      'node',
      'p-map',
      'protobufjs',
    ],
  },
  {
    part: 'src/observability',
    ours: [clock, 'src/contracts', 'src/domain', 'src/version.ts'],
    oursAsTypes: ['src/ride-api', 'src/notify-http', 'src/webhooks', 'src/temporal', config],
    packages: [
      'pino',
      'prom-client',
      '@opentelemetry/api',
      '@opentelemetry/core',
      '@opentelemetry/exporter-trace-otlp-http',
      '@opentelemetry/exporter-trace-otlp-proto',
      '@opentelemetry/resources',
      '@opentelemetry/sdk-trace-node',
      '@temporalio/client',
      '@temporalio/common',
      '@temporalio/worker',
      'node',
    ],
  },
  {
    part: 'src/desk',
    ours: [clock, 'src/client', 'src/domain', 'src/sealing', 'src/settings', 'src/store', 'src/temporal'],
    oursAsTypes: ['src/observability'],
    packages: ['@temporalio/client', 'fastify', 'ghtml', 'node', 'openid-client'],
  },
  { part: cli, ours: ['src'], oursAsTypes: [config], packages: 'any', never: [...processes, config] },
  {
    part: 'src/worker.ts',
    ours: ['src'],
    packages: 'any',
    never: ['src/starter.ts', 'src/ingress.ts', 'src/desk.ts', cli],
  },
  { part: 'src/starter.ts', ours: ['src'], packages: 'any', never: ['src/worker.ts', 'src/ingress.ts', 'src/desk.ts'] },
  {
    part: 'src/ingress.ts',
    ours: ['src'],
    packages: 'any',
    never: ['src/worker.ts', 'src/starter.ts', 'src/desk.ts', cli],
  },
  {
    part: 'src/desk.ts',
    ours: ['src'],
    packages: 'any',
    never: ['src/worker.ts', 'src/starter.ts', 'src/ingress.ts', cli],
  },
  { part: 'src/*.ts', ours: ['src'], oursAsTypes: [config], packages: 'any', never: [...processes, cli, config] },
  { part: 'dev/sandbox', ours: ['src/contracts', 'src/domain'], packages: 'any' },
  { part: 'examples', ours: ['src/client'], packages: 'any' },
  { part: 'dev/replay', ours: ['src'], packages: 'any' },
  {
    part: 'dev/sim',
    ours: ['src', 'dev/replay', 'dev/sandbox'],
    packages: 'any',
  },
  { part: 'dev/stack', ours: ['src', 'dev/sandbox'], packages: 'any' },
  { part: 'dev/bench', ours: ['src', 'dev/sandbox', 'dev/stack'], packages: 'any' },
  { part: 'dev/faults', ours: ['src', 'dev/sandbox', 'dev/stack', 'dev/bench'], packages: 'any' },
  { part: 'dev/pictures', ours: ['src', 'dev/sandbox', 'dev/stack', 'dev/bench'], packages: 'any' },
  { part: 'test', ours: codeFolders.filter((folder) => folder !== 'test'), packages: 'any' },
];
