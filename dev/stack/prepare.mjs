// Makes a checkout runnable: dependencies, then compiled output. It runs before both exist, so it is plain JavaScript without
// dependencies. It prints to stderr, since stdout belongs to the next command.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const quiet = process.argv.includes('--quiet');
const needsServer = process.argv.includes('--server'); // the next command starts a Temporal server
const inRoot = (path) => join(root, path);
const stamp = inRoot('dist/.stamp');
const say = (line) => process.stderr.write(`prepare: ${line}\n`);
const readIfThere = (path) => (fs.existsSync(path) ? fs.readFileSync(path, 'utf8') : undefined);

function fail(lines) {
  for (const line of lines) say(line);
  process.exit(1);
}

/** Runs `command` in the checkout and collects its output. Reports every ten seconds that the command still runs. */
function run(command, args) {
  const startedAt = Date.now();
  const alive = setInterval(() => say(`  ... ${Math.round((Date.now() - startedAt) / 1000)} s`), 10_000);
  return new Promise((resolve) => {
    let output = '';
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
    child.on('error', (error) => (output += error.message));
    child.on('close', (code) => {
      clearInterval(alive);
      resolve({ ok: code === 0, said: output.trim().split('\n').slice(0, 25) }); // the cause comes first, usage last
    });
  });
}

/** npm writes its record of the installed packages last, so the record of an interrupted or outdated install does not match. */
function isInstalled() {
  const wanted = JSON.parse(fs.readFileSync(inRoot('package-lock.json'), 'utf8')).packages;
  const installed = JSON.parse(readIfThere(inRoot('node_modules/.package-lock.json')) ?? '{}').packages ?? {};
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === '' || (entry.optional && !installed[path])) return true; // an optional package may be for another platform
    return installed[path]?.integrity === entry.integrity;
  });
}

async function install() {
  say('installing dependencies with npm ci (once, about half a minute)');
  const npm = process.env.npm_execpath ?? ''; // set if npm runs this script; then the same npm installs
  const args = ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'];
  const isNpm = basename(npm) === 'npm-cli.js';
  const { ok, said } = await (isNpm ? run(process.execPath, [npm, ...args]) : run('npm', args));
  if (!ok)
    fail([...said, 'npm ci failed. Check that npm reaches its registry (npm ping), then run the command again.']);
}

async function compileServerAhead() {
  const { compileAhead } = await import('./compile-ahead.mjs');
  const server = await compileAhead(root, say);
  process.on('exit', () => server?.stop());
  return server;
}

/** What makes the output, below `folder`. Like the compiler it passes over installed packages, such as those in the `.venv` of an example. */
function* sourcesBelow(folder) {
  if (!fs.existsSync(folder)) return;
  for (const entry of fs.readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.name.startsWith('.') || entry.name === 'node_modules') continue;
    if (entry.isDirectory()) yield* sourcesBelow(path);
    else if (/\.(ts|mjs|sql|css|js)$/.test(entry.name)) yield path;
  }
}

function hashOfSources() {
  const hash = createHash('sha256');
  const configs = fs.readdirSync(root).filter((name) => /^tsconfig.*\.json$/.test(name));
  const { include: folders } = JSON.parse(fs.readFileSync(inRoot('tsconfig.build.json'), 'utf8'));
  const sources = folders.flatMap((folder) => [...sourcesBelow(inRoot(folder))]);
  for (const file of [...sources, ...['package-lock.json', ...configs.sort()].map(inRoot)]) {
    hash.update(`\0${file.slice(root.length)}\0`).update(readIfThere(file) ?? '');
  }
  return hash.digest('hex');
}

/** Compiles beside the old output, so that a failed or interrupted build leaves the old output whole. Writes the stamp last. */
async function build(hash) {
  if (!quiet) say('compiling (a few seconds)');
  const tsc = inRoot('node_modules/typescript/bin/tsc');
  fs.rmSync(inRoot('dist.next'), { recursive: true, force: true });
  const { ok, said } = await run(process.execPath, [tsc, '-p', 'tsconfig.build.json', '--outDir', 'dist.next']);
  if (!ok) fail([...said, 'The sources do not compile: mend the errors above, then run the command again.']);
  // The compiler leaves these behind.
  for (const folder of ['src/store/migrations', 'src/desk/static'])
    if (fs.existsSync(inRoot(folder))) fs.cpSync(inRoot(folder), inRoot(`dist.next/${folder}`), { recursive: true });
  fs.rmSync(inRoot('dist'), { recursive: true, force: true });
  fs.renameSync(inRoot('dist.next'), inRoot('dist'));
  if (fs.existsSync(inRoot('dist/src/workflows/index.js'))) await bundleWorkflows();
  fs.writeFileSync(stamp, hash);
}

async function bundleWorkflows() {
  const worker = inRoot('node_modules/@temporalio/worker/lib/index.js');
  const { DefaultLogger } = (await import(pathToFileURL(worker).href)).default;
  const { bundlePath, bundleWorkflows } = await import(
    pathToFileURL(inRoot('dist/src/temporal/workflow-code.js')).href
  );
  const logger = new DefaultLogger('ERROR', ({ message }) => say(message));
  for (const kind of [{ encodesFailures: false }, { encodesFailures: true }]) {
    fs.writeFileSync(bundlePath(kind), await bundleWorkflows(inRoot('dist/src/workflows/index.js'), logger, kind));
  }
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** Allows one prepare at a time per checkout. The lock holds its owner's pid, so the next prepare can take over the lock of a killed one. */
async function lock() {
  const path = inRoot('.faretrail/prepare.lock');
  const mine = `${path}.${process.pid}`;
  try {
    fs.mkdirSync(dirname(path), { recursive: true, mode: 0o700 }); // npm start keeps orders and persons there
    fs.writeFileSync(mine, String(process.pid));
  } catch (error) {
    fail([`cannot write to .faretrail (${error.code})`]);
  }
  process.on('exit', () => fs.rmSync(readIfThere(path) === String(process.pid) ? path : mine, { force: true }));
  for (let tries = 1; ; tries += 1) {
    try {
      fs.linkSync(mine, path); // another process never sees half a link, unlike a new file
      return fs.rmSync(mine);
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    if (!isAlive(Number(readIfThere(path) ?? process.pid))) fs.rmSync(path, { force: true });
    if (tries === 10) say(`waiting for another prepare in this checkout (its lock is ${path})`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19))
  fail([`Node 20.19 or newer is needed, this is ${process.versions.node}.`]);
if (!isInstalled() || readIfThere(stamp) !== hashOfSources()) {
  await lock();
  const server = needsServer && !isInstalled() ? await compileServerAhead() : undefined;
  if (!isInstalled()) await install();
  const hash = hashOfSources();
  if (readIfThere(stamp) !== hash) await build(hash);
  await server?.end();
}
