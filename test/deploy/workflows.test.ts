import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { inProject } from './deployment-files.js';

interface Job {
  permissions?: Record<string, string>;
  steps: { uses?: string; run?: string; with?: Record<string, unknown> }[];
}

const folder = inProject('.github/workflows');
const jobs = readdirSync(folder).flatMap((file) => {
  const { permissions, jobs } = parse(readFileSync(`${folder}/${file}`, 'utf8'));
  return Object.entries<Job>(jobs).map(([name, job]) => ({ name: `${file}: ${name}`, permissions, ...job }));
});

describe.each(jobs)('the job $name', ({ permissions, steps }) => {
  it('takes each action at one commit', () => {
    for (const { uses } of steps) if (uses !== undefined) expect(uses).toMatch(/@[0-9a-f]{40}$/);
  });

  it('keeps its token from the code that it checks out', () => {
    const checkouts = steps.filter(({ uses }) => uses?.startsWith('actions/checkout@'));
    for (const checkout of checkouts) expect(checkout.with).toMatchObject({ 'persist-credentials': false });
    const mayWrite = Object.values(permissions ?? {}).includes('write');
    const runsCode =
      checkouts.length > 0 || steps.some(({ run }) => /\b(npm|npx|node|docker build)\b|\.ci\//.test(run ?? ''));
    expect(mayWrite && runsCode).toBe(false);
  });
});
