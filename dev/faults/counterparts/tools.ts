import { copyFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FaretrailError } from '../../../src/domain/errors.js';
import { findServer } from '../../stack/temporal/find-server.js';
import { builtWithGo } from '../../stack/temporal/go-build.js';
import { projectRoot } from '../../stack/temporal/project-root.js';
import { pythonWith } from '../../stack/temporal/python.js';
import { type Report, runCommand } from '../../stack/temporal/run-command.js';
import { keptFolder } from '../../stack/temporal/server-cache.js';

/** A program of others is not to be had here. The message says which one, why, and the remedy. */
export class ToolMissing extends FaretrailError<'ToolMissing'> {
  override readonly name = 'ToolMissing';
}

/** A program of others, ready to be run. */
export interface Tool {
  name: string;
  version: string;
  program: string;
  /** Its first arguments. */
  args: readonly string[];
}

const programs = join(projectRoot, 'dev/faults/counterparts/programs');
const read = (path: string): string => readFileSync(join(programs, path), 'utf8');
const installLimitMs = 5 * 60_000;

const ofKubernetes = (name: string) => ({
  ...{ module: 'k8s.io/kubernetes', package: `k8s.io/kubernetes/cmd/${name}`, folder: 'kubernetes' },
});

const goTools = {
  toxiproxy: { module: 'github.com/Shopify/toxiproxy/v2', package: 'github.com/Shopify/toxiproxy/v2/cmd/server' },
  fosite: { module: 'github.com/ory/fosite', package: './fosite', ours: 'fosite/main.go' },
  collector: {
    ...{ module: 'go.opentelemetry.io/collector/otelcol', package: './collector', ours: 'collector/main.go' },
    folder: 'telemetry',
  },
  jaeger: {
    ...{ module: 'github.com/jaegertracing/jaeger', package: 'github.com/jaegertracing/jaeger/cmd/jaeger' },
    folder: 'telemetry',
  },
  'kube-apiserver': ofKubernetes('kube-apiserver'),
  'kube-controller-manager': ofKubernetes('kube-controller-manager'),
  kubectl: ofKubernetes('kubectl'),
} as const satisfies Record<string, GoTool>;

interface GoTool {
  module: string;
  package: string;
  ours?: string;
  /** Of its go.mod. Default: `go`. */
  folder?: string;
}

/** Builds it once with Go; go.mod and go.sum pin it. Throws `ServerNotFound`. */
export async function goTool(name: keyof typeof goTools, say: Report): Promise<Tool> {
  const { module, package: goPackage, ours, folder = 'go' }: GoTool = goTools[name];
  const version = versionIn(read(`${folder}/go.mod`), `${module} v`);
  const what = `${name} ${version}`;
  const program = {
    what,
    folder: `dev/faults/counterparts/programs/${folder}`,
    package: goPackage,
    fileName: `${name}-${version}`,
  };
  const source = builtWithGo(ours ? { ...program, ours } : program);
  const path = await findServer({ what, sources: [source], remedy: 'install Go 1.26' }, say);
  return { name: module, version, program: path, args: [] };
}

/** One of our small programs on a package of npm; package-lock.json pins it. npm runs none of the package's own scripts. Throws `ToolMissing`. */
export async function nodeTool(module: string, script: string, say: Report): Promise<Tool> {
  const files = ['package.json', 'package-lock.json', 'oidc-provider.mjs', 'oauth2-server.mjs'];
  const folder = await keptFolder(
    'counterparts-node',
    files.map((file) => read(`node/${file}`)),
    say,
    async (made) => {
      for (const file of files) copyFileSync(join(programs, 'node', file), join(made, file));
      const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
      await runCommand('npm', ['ci', ...flags], { cwd: made, timeLimitMs: installLimitMs });
    },
  ).catch(toMissing(module, 'check that npm reaches its registry (npm ping)'));
  const version = versionIn(read('node/package.json'), `"${module}": "`);
  return { name: module, version, program: process.execPath, args: [join(folder, script)] };
}

/** A package of PyPI, with one of our small programs or none. `requirements`: the folder of the file that pins it. Throws `ToolMissing`. */
export async function pythonTool(
  module: string,
  requirements: string,
  script: string | null,
  say: Report,
): Promise<Tool> {
  const file = join(projectRoot, requirements, 'requirements.txt');
  const name = requirements.replaceAll('/', '-');
  const remedy = 'install Python 3 with venv, and check that pip reaches its index';
  const program = await pythonWith(file, name, say).catch(toMissing(module, remedy));
  const version = versionIn(readFileSync(file, 'utf8'), `${module}==`);
  return { name: module, version, program, args: script === null ? [] : [join(programs, 'python', script)] };
}

/** A package of Debian, unpacked into the cache and not installed. Throws `ToolMissing`. */
export async function debianTool(name: string, version: string, say: Report, program = name): Promise<Tool> {
  const folder = await keptFolder('counterparts-debian', [name, version], say, async (made) => {
    const options = { cwd: made, timeLimitMs: installLimitMs };
    await runCommand('apt-get', ['download', `${name}=${version}`], options);
    const [file = ''] = readdirSync(made).filter((entry) => entry.endsWith('.deb'));
    await runCommand('dpkg-deb', ['--extract', file, made], options);
  }).catch(toMissing(`${name} ${version}`, 'run it on Debian 12, after apt-get update'));
  return { name, version, program: join(folder, 'usr/bin', program), args: [] };
}

function versionIn(text: string, before: string): string {
  const rest = text.slice(text.indexOf(before) + before.length);
  return /^[\w.+-]+/.exec(rest)?.[0] ?? '';
}

const toMissing =
  (what: string, remedy: string) =>
  (error: unknown): never => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ToolMissing('ToolMissing', `${what} is not to be had: ${reason}\nRemedy: ${remedy}`, { cause: error });
  };
