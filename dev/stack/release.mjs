// Cuts a release: npm run release -- 0.3.0. The version, the changelog from changes/, and the histories that every later version has to replay.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');
const sections = ['added', 'changed', 'fixed', 'removed'];
const [version = ''] = process.argv.slice(2);
if (!/^\d+\.\d+\.\d+$/.test(version)) {
  console.error('usage: npm run release -- <version, such as 0.3.0>');
  process.exit(2);
}

const changes = takeChanges();
execFileSync('npm', ['version', version, '--no-git-tag-version', '--allow-same-version'], {
  cwd: root,
  stdio: 'ignore',
});
rewrite('deploy/kubernetes/kustomization.yaml', (text) => text.replace(/newTag: .*/, `newTag: ${version}`));
rewrite('CHANGELOG.md', (text) => withVersion(text, changes));
fs.writeFileSync(
  join(root, 'test/replay/released.json'),
  `${JSON.stringify({ version, sha256: hashes() }, null, 2)}\n`,
);
for (const { path } of changes) fs.rmSync(path);

console.log(
  `${version}: ${changes.length} changes in CHANGELOG.md; test/replay/released.json names the histories of this release`,
);
console.log(
  'next: FARETRAIL_TEST_RECORD=true npx vitest run --project unit test/contracts; npm run pictures; .ci/run; commit; tag',
);

/** The files of changes/. Ends the process, before anything is written, if one has no section. */
function takeChanges() {
  const folder = join(root, 'changes');
  const names = fs.readdirSync(folder).filter((name) => name.endsWith('.md') && name !== 'README.md');
  const stray = names.find((name) => !sections.includes(name.split('-')[0]));
  if (stray) {
    console.error(`changes/${stray}: begin its name with ${sections.join('-, ')}-`);
    process.exit(1);
  }
  return names.sort().map((name) => {
    const path = join(folder, name);
    return { path, section: name.split('-')[0], text: fs.readFileSync(path, 'utf8').trim().replaceAll('\n', '\n  ') };
  });
}

/** The changelog with the new version before the latest one. */
function withVersion(changelog, entries) {
  const parts = sections.flatMap((section) => {
    const lines = entries.filter((entry) => entry.section === section).map(({ text }) => `- ${text}\n`);
    return lines.length === 0 ? [] : [`### ${section[0].toUpperCase()}${section.slice(1)}\n\n${lines.join('')}`];
  });
  const at = changelog.search(/^## \[/m);
  const heading = `## [${version}] - ${new Date().toISOString().slice(0, 10)}\n`;
  return `${changelog.slice(0, at)}${[heading, ...parts].join('\n')}\n${changelog.slice(at)}`;
}

/** The hash of each recorded history, by its name. */
function hashes() {
  const folder = join(root, 'test/replay/histories');
  const hashOf = (name) =>
    createHash('sha256')
      .update(fs.readFileSync(join(folder, name)))
      .digest('hex');
  return Object.fromEntries(
    fs
      .readdirSync(folder)
      .sort()
      .map((name) => [name.replace(/\.json$/, ''), hashOf(name)]),
  );
}

function rewrite(file, change) {
  const path = join(root, file);
  fs.writeFileSync(path, change(fs.readFileSync(path, 'utf8')));
}
