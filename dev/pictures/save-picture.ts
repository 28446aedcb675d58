import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../stack/temporal/project-root.js';

const folder = 'docs/pictures';

export function savePicture(name: string, content: string | Uint8Array): void {
  writeFileSync(join(projectRoot, folder, name), content);
  console.log(`${folder}/${name}`);
}
