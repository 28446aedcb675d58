import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { projectRoot } from '../../local/temporal/project-root.js';
import { figuresOf } from '../../pictures/figures.js';
import { essence, origins, outdatedPictures, pictureFolder } from '../../pictures/manifest.js';
import type { RideStanding } from '../../src/domain/ride/ride.js';
import type { renewalReason } from '../../src/domain/token-lease.js';
import { filesBelow } from './project-files.js';

const read = (path: string) => readFileSync(join(projectRoot, path), 'utf8');
type RenewalReason = ReturnType<typeof renewalReason>;

describe('the pictures', () => {
  it('are no older than what they show', () => {
    expect(outdatedPictures()).toEqual([]);
  });

  it('are all made by a command', () => {
    const pictures = readdirSync(join(projectRoot, pictureFolder));
    expect(pictures.filter((name) => /\.(png|svg)$/.test(name)).sort()).toEqual(Object.keys(origins).sort());
  });

  it('are called outdated without a note of what they show, with the command that makes them', () => {
    expect(outdatedPictures({})).toHaveLength(Object.keys(origins).length);
    expect(outdatedPictures({}).join()).toContain('npm run pictures -- dashboard');
  });
});

it('the figures in the pages are those of the bench', () => {
  const figures = (path: string) => JSON.parse(read(path)) as object;
  expect(figures('docs/figures.json')).toMatchObject(figuresOf(figures('docs/figures/bench.json')));
});

it('what a picture shows changes with the code, and not with comments, white space, types or imports', () => {
  const code = "export const a = (b: string) => b + 'read';";
  const written =
    "import { c } from './d.js';\nimport type { E } from './e.js';\n/** Doc. */\nexport const a = (b: E) =>\n  b + 'read'; // why\n";
  expect(essence('a.ts', written)).toBe(essence('a.ts', code));
  expect(essence('a.ts', code.replace('read', 'seen'))).not.toBe(essence('a.ts', code));
});

describe('the diagrams', () => {
  const stages: Record<RideStanding['stage'], true> = { requesting: true, following: true, receipt: true, ended: true };
  const reasons: Record<RenewalReason, true> = { first: true, ahead: true, expired: true, rejected: true };
  it.each([
    ['stage of a ride', 'ride', /--> (\w+)/g, stages],
    ['reason to request a token', 'token-lease', /--> \w+: (\w+)/g, reasons],
  ])('name every %s', (_, name, pattern, words) => {
    const shown = [...read(`${pictureFolder}/${name}.mmd`).matchAll(pattern)].map(([, word]) => word);
    expect(shown).toEqual(expect.arrayContaining(Object.keys(words)));
  });

  it('stand in the pages as they stand in their files', () => {
    const blocks = filesBelow('')
      .filter(({ path }) => path.endsWith('.md'))
      .flatMap(({ path, text }) => {
        const found = [...text.matchAll(/```mermaid\n(%% docs\/pictures[\s\S]*?)```/g)];
        return found.map(([, block = '']) => ({ path, block: block.trim() }));
      });
    const files = filesBelow(pictureFolder).map(({ text }) => text.trim());
    expect(blocks.filter(({ block }) => !files.includes(block))).toEqual([]);
  });
});
