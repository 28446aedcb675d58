// Compiles the Temporal development server into Go's own cache while npm installs, so that its build has little left to do. Plain JavaScript
// without dependencies, like prepare.mjs. It leaves nothing behind but Go's caches: a mistake costs time and nothing else.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';

const officialHost = 'https://temporal.download/';
const answersWithinMs = 2_000;
const progressEveryMs = 20_000;

/**
 * Begins, if the server will have to be built: no server is given, on the PATH or in the cache, Go is there, and the official download
 * cannot be reached. `end()` waits until all is compiled, and says how long that takes; `stop()` gives up.
 */
export async function compileAhead(root, say) {
  if (process.env.TEMPORAL_ADDRESS || isOnPath('temporal') || isInCache() || !isOnPath('go')) return undefined;
  if (await isReachable(officialHost)) return undefined;
  const startedAt = Date.now();
  const { compile, env } = JSON.parse(fs.readFileSync(join(root, 'dev/stack/temporal/go-settings.json'), 'utf8'));
  say('compiling the Temporal development server with Go meanwhile (once, about 2 minutes)');
  const child = spawn('go', ['list', '-export', '-deps', '-f', '{{""}}', ...compile, '.'], {
    cwd: join(root, 'dev/stack/temporal/dev-server-build'),
    env: { ...process.env, ...env },
    stdio: 'ignore', // its build says what does not compile
  });
  const ended = new Promise((resolve) => {
    child.on('error', resolve);
    child.on('close', resolve);
  });
  return {
    async end() {
      const seconds = () => Math.round((Date.now() - startedAt) / 1000);
      const progress = setInterval(
        () => say(`  the Temporal server is still being compiled: ${seconds()} s`),
        progressEveryMs,
      );
      await ended;
      clearInterval(progress);
    },
    stop: () => child.kill(),
  };
}

function isOnPath(program) {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return folders.some((folder) => isExecutable(join(folder, program)));
}

/** Any server there will do; findDevServer looks more closely. */
function isInCache() {
  const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'faretrail');
  const isServer = (name) => name.startsWith('temporal-') && isExecutable(join(folder, name));
  return fs.existsSync(folder) && fs.readdirSync(folder).some(isServer);
}

function isExecutable(path) {
  try {
    fs.accessSync(path, fs.constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function isReachable(url) {
  const signal = AbortSignal.timeout(answersWithinMs);
  return fetch(url, { method: 'HEAD', signal }).then(
    () => true,
    () => false,
  );
}
