import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FaretrailError } from '../domain/errors.js';

// What an ingress keeps for people stands in files beside the journal: the folder belongs to one ingress alone, outlives it, and a command
// can read a file there while the ingress runs and while it does not. The port of the ingress faces the service, so it shows them to none.

type KeptFileCode = 'ShapesUnreadable' | 'TallyUnreadable';

/** A file beside the journal cannot be read, or is not one that this version has written. */
export class KeptFileUnreadable extends FaretrailError<KeptFileCode> {
  override readonly name = 'KeptFileUnreadable';
}

/** One kind of such a file. */
export interface KeptFile<Document> {
  name: string;
  unreadable: KeptFileCode;
  /** Throws for what no ingress of this version writes. */
  parse(value: unknown): Document;
}

/** The document that the ingress of this journal has kept; null where it has kept none yet. Throws `KeptFileUnreadable`. */
export async function readKeptFile<Document>(
  folder: string,
  { name, unreadable, parse }: KeptFile<Document>,
): Promise<Document | null> {
  try {
    return parse(JSON.parse(await readFile(join(folder, name), 'utf8')));
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : null;
    if (code === 'ENOENT') return null;
    const why = code === null ? 'it is not what an ingress of this version writes' : `${code}; check its permissions`;
    const message = `FARETRAIL_JOURNAL_DIR: ${name} in it cannot be read (${why})`;
    throw new KeptFileUnreadable(unreadable, message, { cause });
  }
}

interface KeeperParts<Document> {
  folder: string;
  file: KeptFile<Document>;
  document(): Document;
  onFailure(error: unknown): void;
  /** The shortest time between two writes. */
  writeEveryMs: number;
}

/** Writes the document a while after it changed. */
export interface Keeper {
  changed(): void;
  /** Writes what is new. Never rejects. */
  close(): Promise<void>;
}

/** Makes the keeper of a file that this process has to itself. */
export function createKeeper<Document>({
  folder,
  file,
  document,
  onFailure,
  writeEveryMs,
}: KeeperParts<Document>): Keeper {
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();

  function write(): void {
    timer = undefined;
    writing = writing.then(() => replaceFile(join(folder, file.name), document())).catch(onFailure);
  }

  return {
    changed() {
      timer ??= setTimeout(write, writeEveryMs).unref();
    },
    async close() {
      if (timer !== undefined) {
        clearTimeout(timer);
        write();
      }
      await writing;
    },
  };
}

/** A reader finds the former document or the new one, never a part of it. */
async function replaceFile(path: string, document: unknown): Promise<void> {
  await writeFile(`${path}.new`, JSON.stringify(document), { mode: 0o600 });
  await rename(`${path}.new`, path);
}
