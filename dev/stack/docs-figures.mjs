// Writes the figures of docs/figures.json into their marked places in all pages: node dev/stack/docs-figures.mjs
// With --check it writes nothing, names the places that differ, and exits with 1 if there are any.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const figures = JSON.parse(readFileSync(join(root, 'docs/figures.json'), 'utf8'));
const inDocs = readdirSync(join(root, 'docs'), { recursive: true }).map((path) => join('docs', path));
const pages = ['README.md', ...inDocs.filter((path) => path.endsWith('.md'))];
const marked = /<!-- figures:([\w-]+) -->(.*?)<!-- \/figures -->/gs;

const differences = [];
for (const page of pages) {
  const text = readFileSync(join(root, page), 'utf8');
  const written = text.replace(marked, (_place, name, shown) => {
    const figure = figures[name];
    if (figure === undefined) throw new Error(`${page}: docs/figures.json has no figure "${name}"`);
    if (shown !== figure) differences.push(`${page}: ${name} is ${figure}, the page says ${shown}`);
    return `<!-- figures:${name} -->${figure}<!-- /figures -->`;
  });
  if (written !== text && !process.argv.includes('--check')) writeFileSync(join(root, page), written);
}
for (const difference of differences) console.log(difference);
if (process.argv.includes('--check') && differences.length > 0) process.exitCode = 1;
