import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { minifySync, transformSync } from 'rolldown/utils';
import { projectRoot } from '../local/temporal/project-root.js';

/** What makes a picture: a command, and the files and folders of the checkout that decide what it shows. */
interface Origin {
  command: string;
  shows: readonly string[];
}

const ui = 'npm run pictures -- ui, beside npm start';
const views = { command: 'npm run pictures -- views, beside npm start', shows: ['pictures/views.ts'] };
const samples = ['sandbox/sample-orders.ts', 'local/stack/sample-rides.ts'];
const encryption = ['src/sealing/payload-codec.ts', 'src/cli/codec.ts', 'pictures/encrypted-stack.ts'];
const plotted = {
  command: 'npm run pictures -- figures',
  shows: ['docs/figures/bench.json', 'pictures/plots.ts', 'pictures/chart.ts'],
};

/** Every picture of `docs/pictures` that a command makes. */
export const origins: Readonly<Record<string, Origin>> = {
  'order.png': { command: ui, shows: ['src/domain/order/trail.ts', 'src/domain/markdown.ts', ...samples] },
  'order-run.png': { command: ui, shows: ['src/workflows/order', ...samples] },
  'call-stack.png': { command: ui, shows: ['src/workflows/subscription', 'src/workflows/interceptors.ts'] },
  'encrypted.png': { command: ui, shows: encryption },
  'decrypted.png': { command: ui, shows: [...encryption, 'src/domain/ride/ride.ts'] },
  'view-account.png': views,
  'view-attention.png': views,
  'history.svg': plotted,
  'acknowledgement.svg': plotted,
  'orders-per-second.svg': plotted,
  'dashboard.svg': {
    command: 'npm run pictures -- dashboard',
    shows: [
      'deploy/observability/grafana-dashboard.json',
      'pictures/dashboard.ts',
      'pictures/fleet-run.ts',
      'pictures/chart.ts',
    ],
  },
};

export const pictureFolder = 'docs/pictures';
const manifestFile = join(projectRoot, pictureFolder, 'pictures.json');

/** For each picture the hash of what it showed when it was made. */
type Manifest = Record<string, string>;

const readManifest = (): Manifest =>
  existsSync(manifestFile) ? (JSON.parse(readFileSync(manifestFile, 'utf8')) as Manifest) : {};

/** Writes a picture, and notes what it shows today. */
export function savePicture(name: string, content: string | Uint8Array): void {
  const origin = origins[name];
  if (origin === undefined) throw new Error(`pictures/manifest.ts does not say what ${name} shows`);
  writeFileSync(join(projectRoot, pictureFolder, name), content);
  const entries = { ...readManifest(), [name]: hashOf(origin.shows) };
  const inOrder = Object.fromEntries(Object.entries(entries).sort(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(manifestFile, `${JSON.stringify(inOrder, null, 2)}\n`);
  console.log(`${pictureFolder}/${name}`);
}

/** The pictures that are older than what they show, one line each. */
export function outdatedPictures(manifest = readManifest()): string[] {
  return Object.entries(origins).flatMap(([name, { command, shows }]) => {
    if (manifest[name] === hashOf(shows) && existsSync(join(projectRoot, pictureFolder, name))) return [];
    return [`${pictureFolder}/${name} is older than what it shows (${shows.join(', ')}). Make it again: ${command}`];
  });
}

/** Moving a file changes nothing, as long as it stays where `shows` looks for it. */
function hashOf(paths: readonly string[]): string {
  const texts = paths.flatMap(filesAt).map((path) => essence(path, readFileSync(path, 'utf8')));
  return createHash('sha256').update(texts.sort().join('\0')).digest('hex').slice(0, 16);
}

function filesAt(path: string): string[] {
  const absolute = join(projectRoot, path);
  const stat = statSync(absolute, { throwIfNoEntry: false });
  if (!stat) throw new Error(`pictures/manifest.ts: ${path} is gone. Name what decides now what the picture shows.`);
  if (!stat.isDirectory()) return [absolute];
  return readdirSync(absolute, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** The text without what no picture shows: comments, white space, types and imports. */
export function essence(path: string, text: string): string {
  if (path.endsWith('.json')) return JSON.stringify(JSON.parse(text));
  const { code } = minifySync(path, transformSync(path, text).code, { compress: false, mangle: false });
  return code.replace(/(import|export)\s*(\*|\{)[^;'"]*from\s*"[^"]*";?/g, '');
}
