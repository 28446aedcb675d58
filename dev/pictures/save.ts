import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../stack/temporal/project-root.js';

const folder = 'docs/pictures';

/** Writes a picture of the documentation. */
export function savePicture(name: string, content: string | Uint8Array): void {
  writeFileSync(join(projectRoot, folder, name), content);
  console.log(`${folder}/${name}`);
}
