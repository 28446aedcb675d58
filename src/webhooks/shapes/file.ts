import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type DeliveryShape, DeliveryShapesSchema } from '../../contracts/delivery-shape.js';
import { FaretrailError } from '../../domain/errors.js';
import { createShapeNotebook, type ShapeNotebook } from './notebook.js';

// The shapes stand beside the journal: the folder belongs to one ingress alone, outlives it, and a command can read a file there while
// the ingress runs and while it does not. The port of the ingress faces the service, so it shows them to none.
const fileOf = (folder: string): string => join(folder, 'shapes.json');

/** The file with the shapes cannot be read, or is not one that this version has written. */
export class ShapesUnreadable extends FaretrailError<'ShapesUnreadable'> {
  override readonly name = 'ShapesUnreadable';
}

/** The shapes that the ingress of this journal has kept; null where it has kept none yet. Throws `ShapesUnreadable`. */
export async function readDeliveryShapes(folder: string): Promise<DeliveryShape[] | null> {
  try {
    return DeliveryShapesSchema.parse(JSON.parse(await readFile(fileOf(folder), 'utf8'))).shapes;
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : null;
    if (code === 'ENOENT') return null;
    const why = code === null ? 'it is not what an ingress of this version writes' : `${code}; check its permissions`;
    throw new ShapesUnreadable('ShapesUnreadable', `FARETRAIL_JOURNAL_DIR: shapes.json in it cannot be read (${why})`, {
      cause,
    });
  }
}

/** A notebook that a file keeps. */
export interface KeptNotebook extends Pick<ShapeNotebook, 'note'> {
  /** Writes what is new. Never rejects. */
  close(): Promise<void>;
}

type FileParts = Omit<Parameters<typeof createShapeNotebook>[0], 'known' | 'onChange'> & {
  folder: string;
  /** The shortest time between two writes. */
  writeEveryMs?: number;
};

/** Opens the notebook of a folder that this process has to itself. A file that cannot be read is replaced: the shapes come again. */
export async function openShapeNotebook({ folder, writeEveryMs = 5_000, ...parts }: FileParts): Promise<KeptNotebook> {
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();
  const known = await readDeliveryShapes(folder).catch((error: unknown) => {
    parts.onFailure(error);
    return null;
  });
  const notebook = createShapeNotebook({
    ...parts,
    known: known ?? [],
    onChange() {
      timer ??= setTimeout(write, writeEveryMs).unref();
    },
  });

  function write(): void {
    timer = undefined;
    writing = writing.then(() => replaceFile(fileOf(folder), notebook.shapes())).catch(parts.onFailure);
  }

  return {
    note: notebook.note,
    async close() {
      await notebook.settled();
      if (timer !== undefined) {
        clearTimeout(timer);
        write();
      }
      await writing;
    },
  };
}

/** A reader finds the former document or the new one, never a part of it. */
async function replaceFile(path: string, shapes: DeliveryShape[]): Promise<void> {
  const document = { version: 1, shapes } satisfies { version: 1; shapes: DeliveryShape[] };
  await writeFile(`${path}.new`, JSON.stringify(document), { mode: 0o600 });
  await rename(`${path}.new`, path);
}
