import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { projectRoot } from '../../local/temporal/project-root.js';
import { figuresOf } from '../../pictures/figures.js';
import { essence, origins, outdatedPictures, pictureFolder } from '../../pictures/manifest.js';
import type { RideStanding } from '../../src/domain/ride/ride.js';
import type { renewalReason } from '../../src/domain/token/lease.js';
import { filesBelow } from './project-files.js';

const pictures = readdirSync(join(projectRoot, pictureFolder));

describe('the pictures', () => {
  it('are no older than what they show', () => {
    expect(outdatedPictures()).toEqual([]);
  });

  it('are all made by a command', () => {
    expect(pictures.filter((name) => /\.(png|svg)$/.test(name)).sort()).toEqual(Object.keys(origins).sort());
  });

  it('would be called outdated, with the command that makes them anew', () => {
    expect(outdatedPictures({})).toHaveLength(Object.keys(origins).length);
    expect(outdatedPictures({}).join()).toContain('npm run pictures -- dashboard');
  });
});

describe('the figures in the pages', () => {
  const read = (path: string) => JSON.parse(readFileSync(join(projectRoot, path), 'utf8')) as object;

  it('are those of the bench', () => {
    expect(read('docs/figures.json')).toMatchObject(figuresOf(read('docs/figures/bench.json')));
  });
});

describe('what a picture shows', () => {
  const code = "export const a = (b: string) => b + 'read';";

  it('stays the same when comments, white space, types or imports change', () => {
    const written =
      "import { c } from './d.js';\nimport type { E } from './e.js';\n/** Doc. */\nexport const a = (b: E) =>\n  b + 'read'; // why\n";
    expect(essence('a.ts', written)).toBe(essence('a.ts', code));
  });

  it('changes with the code', () => {
    expect(essence('a.ts', code.replace('read', 'seen'))).not.toBe(essence('a.ts', code));
  });
});

describe('the diagrams', () => {
  const diagram = (name: string): string => readFileSync(join(projectRoot, pictureFolder, `${name}.mmd`), 'utf8');
  const statesIn = (text: string): string[] => [...text.matchAll(/--> (\w+)/g)].map(([, state = '']) => state);
  const labelsIn = (text: string): string[] => [...text.matchAll(/--> \w+: (\w+)/g)].map(([, label = '']) => label);

  it('name every stage of a ride', () => {
    const stages: Record<RideStanding['stage'], true> = {
      requesting: true,
      following: true,
      receipt: true,
      ended: true,
    };
    expect(statesIn(diagram('ride'))).toEqual(expect.arrayContaining(Object.keys(stages)));
  });

  it('name every reason to request a token', () => {
    const reasons: Record<ReturnType<typeof renewalReason>, true> = {
      first: true,
      ahead: true,
      expired: true,
      rejected: true,
    };
    expect(labelsIn(diagram('token-lease'))).toEqual(expect.arrayContaining(Object.keys(reasons)));
  });

  it('stand in the pages as they stand in their files', () => {
    const shown = filesBelow('')
      .filter(({ path }) => path.endsWith('.md'))
      .flatMap(({ path, text }) =>
        [...text.matchAll(/```mermaid\n(%% docs\/pictures[\s\S]*?)```/g)].map(([, block = '']) => ({ path, block })),
      );
    const files = filesBelow(pictureFolder).map(({ text }) => text.trim());
    expect(shown.filter(({ block }) => !files.includes(block.trim())).map(({ path }) => path)).toEqual([]);
  });
});
