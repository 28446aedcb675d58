import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { projectRoot } from '../../dev/stack/temporal/project-root.js';

export const inProject = (path: string): string => join(projectRoot, path);

const Texts = z.record(z.string(), z.string());

/** What the tests ask of a service. Strings as `docker compose` reads them, before variables are put in. */
const Service = z.looseObject({
  image: z.string(),
  command: z.array(z.string()).optional(),
  environment: Texts.optional(),
  secrets: z.array(z.string()).optional(),
  configs: z.array(z.object({ source: z.string(), target: z.string() })).optional(),
  volumes: z.array(z.string()).optional(),
  healthcheck: z.looseObject({ test: z.array(z.string()) }).optional(),
});

const ComposeFile = z.looseObject({
  services: z.record(z.string(), Service),
  configs: z.record(z.string(), z.object({ file: z.string() })),
  secrets: z.record(z.string(), z.object({ file: z.string() })),
});

export type ComposeService = z.infer<typeof Service>;

/** `docker-compose.yml`, with all that YAML merges into a service. */
export const composeFile = ComposeFile.parse(
  parse(readFileSync(inProject('docker-compose.yml'), 'utf8'), { merge: true }),
);

/** `${NAME:-default}` becomes the default, as on a machine where no such variable is set. */
export const withDefaults = (text: string): string => text.replace(/\$\{\w+:-([^}]*)\}/g, '$1');

type Texts = z.infer<typeof Texts>;

/** `package.json`, as far as the tests ask. */
export const manifest = JSON.parse(readFileSync(inProject('package.json'), 'utf8')) as {
  bin: Texts;
  exports: Record<string, string | Texts>;
};

/** Logical lines of the Dockerfile: an instruction and what follows it, comments left out. */
export function dockerfile(): { instruction: string; rest: string }[] {
  const text = readFileSync(inProject('Dockerfile'), 'utf8')
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n\s*/g, '');
  return [...text.matchAll(/^(\S+)\s+(.*)$/gm)].map(([, instruction = '', rest = '']) => ({ instruction, rest }));
}
