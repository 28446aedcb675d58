import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { FaretrailError } from '../../../src/domain/errors.js';

/** Docker cannot be used here. The message says what is missing and what helps. */
export class DockerMissing extends FaretrailError<'DockerMissing'> {
  override readonly name = 'DockerMissing';
}

/** Runs `docker` with these arguments and gives what it prints. Throws an Error with what it complained about. */
export type Docker = (args: readonly string[], options?: { cwd?: string; env?: NodeJS.ProcessEnv }) => Promise<string>;

const run = promisify(execFile);
const maxBuffer = 256 * 1024 * 1024;
const longestMs = 30 * 60_000; // a first build

export const docker: Docker = async (args, options = {}) => {
  const { stdout } = await run('docker', args, { ...options, maxBuffer, timeout: longestMs });
  return stdout;
};

const needs = [
  {
    args: ['version', '--format', '{{.Server.Version}}'],
    what: 'a Docker daemon that answers',
    remedy: 'Start one, or name one in DOCKER_HOST; "docker info" has to work.',
  },
  {
    args: ['compose', 'version', '--short'],
    what: 'Docker Compose 2, as "docker compose"',
    remedy: 'Install it: https://docs.docker.com/compose/install/',
  },
] as const;

/** The versions of the daemon and of Compose. Throws `DockerMissing`. */
export async function findDocker(call: Docker = docker): Promise<string> {
  const versions: string[] = [];
  for (const { args, what, remedy } of needs) {
    const version = await call(args).catch((error: Error) => {
      const cause = error.message.trim().split('\n').at(-1);
      throw new DockerMissing('DockerMissing', `This test needs ${what}. ${remedy}\n${cause}`);
    });
    versions.push(version.trim());
  }
  const [daemon, compose] = versions;
  return `Docker ${daemon}, Compose ${compose}`;
}
