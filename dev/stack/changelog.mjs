// Puts the files of changes/ into CHANGELOG.md as a new version, and removes them: npm run changelog -- 0.3.0
import fs from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');
const folder = join(root, 'changes');
const sections = ['added', 'changed', 'fixed', 'removed'];
const [version = ''] = process.argv.slice(2);
if (!/^\d+\.\d+\.\d+$/.test(version)) {
  console.error('usage: npm run changelog -- <version, such as 0.3.0>');
  process.exit(2);
}

const files = fs.readdirSync(folder).filter((name) => name.endsWith('.md') && name !== 'README.md');
const stray = files.filter((name) => !sections.includes(name.split('-')[0]));
if (stray.length > 0) {
  console.error(`changes/${stray[0]}: begin its name with ${sections.join('-, ')}-`);
  process.exit(1);
}

const textOf = (section) =>
  files
    .filter((name) => name.startsWith(`${section}-`))
    .sort()
    .map((name) => `- ${fs.readFileSync(join(folder, name), 'utf8').trim().replaceAll('\n', '\n  ')}`)
    .join('\n');
const written = sections
  .map((section) => [section, textOf(section)])
  .filter(([, text]) => text !== '')
  .map(([section, text]) => `### ${section[0].toUpperCase()}${section.slice(1)}\n\n${text}\n`);
const path = join(root, 'CHANGELOG.md');
const changelog = fs.readFileSync(path, 'utf8');
const at = changelog.search(/^## \[/m); // before the latest version
const heading = `## [${version}] - ${new Date().toISOString().slice(0, 10)}\n`;
fs.writeFileSync(path, `${changelog.slice(0, at)}${[heading, ...written].join('\n')}\n${changelog.slice(at)}`);
for (const name of files) fs.rmSync(join(folder, name));
console.log(`CHANGELOG.md: ${version}, ${files.length} changes`);
