import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundleTracker } from './baseline/worker.js';
import type { BenchPlace } from './site.js';

/** A place for both sides: with the code of the plain tracker's workflows. */
export async function withTracker(place: BenchPlace): Promise<BenchPlace> {
  const trackerCodePath = join(place.folder, 'tracker-bundle.js');
  writeFileSync(trackerCodePath, await bundleTracker());
  return { ...place, trackerCodePath };
}
