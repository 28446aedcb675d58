import { readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { projectRoot } from '../../dev/stack/temporal/project-root.js';

/** A history of every path through the workflows. */
const folder = join(projectRoot, 'test/replay/histories');

/** The recorded histories, as paths. */
export const historyFiles = (): string[] => readdirSync(folder).map((file) => join(folder, file));

/** The paths that have one. */
export const recordedNames = (): string[] => historyFiles().map((file) => basename(file, '.json'));

/** Where the history of a path is kept. */
export const historyFile = (name: string): string => join(folder, `${name}.json`);

/** Keeps the history of a path. Stack traces tell where a checkout lies. */
export const keepHistory = (name: string, json: string): void =>
  writeFileSync(historyFile(name), `${json.replaceAll(/"stackTrace":\s*"[^"]*"/g, '"stackTrace": ""')}\n`);
