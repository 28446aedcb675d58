import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../temporal/project-root.js';
import { type ServerProcess, startServerProcess } from '../temporal/server-process.js';
import { nodeArgs } from './node-args.js';

/** A process of a deployment, with its whole log in a file. */
export interface LocalProcess extends ServerProcess {
  name: 'worker' | 'ingress' | 'desk';
  logFile: string;
}

/** Longer than the 40 s after which a worker abandons running activities. */
const stopWithinMs = 60_000;

/** Starts a process as a deployment does, with its log in `folder`, and waits until it says that it has started. Throws `ServerFailed`, which names the log. */
export async function startLocalProcess(
  name: LocalProcess['name'],
  env: Record<string, string | undefined>,
  folder: string,
): Promise<LocalProcess> {
  const logFile = join(folder, `${name}.log`);
  const isUp = (log: string): boolean => log.includes(`${name} started`);
  const said = `${name} (log in ${logFile.replace(`${projectRoot}/`, '')})`;
  const options = { name: `the ${said}`, env, logFile, isUp, stopWithinMs };
  return { ...(await startServerProcess(process.execPath, nodeArgs(name), options)), name, logFile };
}

/** Where a desk listens, as its log says. */
export const deskOrigin = ({ logFile }: Pick<LocalProcess, 'logFile'>): string =>
  /"origin":"([^"]+)"/.exec(readFileSync(logFile, 'utf8'))?.[1] ?? '';
