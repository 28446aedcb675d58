import { describe, expect, it } from 'vitest';
import { environmentReads, forbiddenImports, statefulRegexes, undocumentedExports } from './architecture.js';
import { readSources } from './project-files.js';
import { parseSource } from './source-file.js';

const project = readSources();

it.each([
  ['imports only what the table allows', forbiddenImports],
  ['reads the environment in no folder of src', environmentReads],
  ['keeps no regular expression with a state where workflows load it', statefulRegexes],
  ['explains every export that another folder uses', undocumentedExports],
])('the project %s', (_, check) => {
  expect(check(project)).toEqual([]);
});

describe('the check of imports', () => {
  it.each([
    ['src/domain/ride.ts', `import { z } from 'zod'`, 'zod'],
    ['src/domain/ride.ts', `import { hash } from 'node:crypto'`, 'node'],
    ['src/contracts/ride.ts', `import { rides } from '../ride-api/rides.js'`, 'src/ride-api/rides.ts'],
    ['src/ride-api/ride.ts', `import { Client } from '@temporalio/client'`, '@temporalio/client'],
    ['src/ride-api/ride.ts', `import type { Config } from '../config.js'`, 'src/config.ts (type)'],
    ['src/activities/ride.ts', `export * from '../workflows/ride.js'`, 'src/workflows/ride.ts'],
    ['src/activities/ride.ts', `import { Client } from '@temporalio/client'`, '@temporalio/client'],
    ['src/workflows/ride.ts', `import { createRides } from '../activities/rides.js'`, 'src/activities/rides.ts'],
    ['src/workflows/ride.ts', `import { type Rides } from '../activities/rides.js'`, 'src/activities/rides.ts'],
    ['src/workflows/ride.ts', `const { z } = await import('zod')`, 'zod'],
    ['src/client/ride.ts', `import { ride } from '../workflows/ride.js'`, 'src/workflows/ride.ts'],
    ['src/webhooks/ride.ts', `import type { Client } from '@temporalio/client'`, '@temporalio/client (type)'],
    ['src/sealing/ride.ts', `import { readEnv } from '../settings/env-reader.js'`, 'src/settings/env-reader.ts'],
    ['src/settings/ride.ts', `import { connect } from '../temporal/connection.js'`, 'src/temporal/connection.ts'],
    ['src/temporal/ride.ts', `import { rides } from '../activities/rides.js'`, 'src/activities/rides.ts'],
    ['src/temporal/ride.ts', `import { open } from '../webhooks/journal.js'`, 'src/webhooks/journal.ts'],
    ['src/observability/ride.ts', `import { open } from '../webhooks/journal.js'`, 'src/webhooks/journal.ts'],
    ['src/worker.ts', `import './ingress.js'`, 'src/ingress.ts'],
    ['src/worker.ts', `import '../sandbox/rides.js'`, 'sandbox/rides.ts'],
    ['src/order-worker.ts', `import { loadConfig } from './config.js'`, 'src/config.ts'],
    ['sandbox/ride.ts', `import { rides } from '../src/ride-api/rides.js'`, 'src/ride-api/rides.ts'],
    ['examples/ride.ts', `import { toOrderId } from '../src/domain/keys.js'`, 'src/domain/keys.ts'],
  ])('refuses in %s: %s', (path, text, target) => {
    expect(forbiddenImports([parseSource(path, text)])).toEqual([`${path}:1 may not import ${target}`]);
  });

  it.each([
    ['src/workflows/ride.ts', `import type { Rides } from '../activities/rides.js'`],
    ['src/workflows/ride.ts', `import { proxyActivities } from '@temporalio/workflow'`],
    ['src/client/ride.ts', `import { cancelRideUpdate } from '../workflows/messages.js'`],
    ['src/worker.ts', `import { loadConfig } from './config.js'`],
    ['src/contracts/ride.ts', `import { z } from 'zod/v4'`],
  ])('accepts in %s: %s', (path, text) => {
    expect(forbiddenImports([parseSource(path, text)])).toEqual([]);
  });

  it('asks for a row for each new folder', () => {
    expect(forbiddenImports([parseSource('src/gossip/ride.ts', '')])).toHaveLength(1);
  });

  it('finds a read of the environment', () => {
    const file = parseSource('src/activities/ride.ts', 'const port =\n  process.env.PORT');
    expect(environmentReads([file])).toEqual(['src/activities/ride.ts:2 reads process.env']);
  });
});

describe('the check of regular expressions', () => {
  it.each([
    ['const blanks = / +/g;', 1],
    ["const blanks = new RegExp(' +', 'y');", 1],
    ['const words = [{ of: / +/gu }];', 1],
    ['const blanks = / +/u;', 0],
    ['const split = (text: string) => text.replace(/ +/g, "");', 0],
  ])('finds in %s: %i', (text, found) => {
    expect(statefulRegexes([parseSource('src/domain/ride.ts', text)])).toHaveLength(found);
    expect(statefulRegexes([parseSource('src/cli/ride.ts', text)])).toEqual([]);
  });
});

describe('the check of doc comments', () => {
  const user = parseSource('src/contracts/user.ts', `import { rideId } from '../domain/index.js'`);
  const entry = parseSource('src/domain/index.ts', `export * from './rides.js'`);

  it('follows re-exports to a declaration without one', () => {
    const bare = parseSource('src/domain/rides.ts', '// no doc\nexport const rideId = 1');
    expect(undocumentedExports([user, entry, bare])).toEqual(['src/domain/rides.ts:2 rideId has no doc comment']);
  });

  it('is content with one, and does not ask where the folder keeps an export to itself', () => {
    const text = '/** The number. */\nexport const rideId = 1;\nexport const inner = 2';
    expect(undocumentedExports([user, entry, parseSource('src/domain/rides.ts', text)])).toEqual([]);
  });
});
