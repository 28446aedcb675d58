import { type DeliveryShape, DeliveryShapesSchema } from '../../contracts/delivery-shape.js';
import { createKeeper, type KeptFile, readKeptFile } from '../kept-file.js';
import { createShapeNotebook, type ShapeNotebook } from './notebook.js';

const file: KeptFile<ReturnType<typeof DeliveryShapesSchema.parse>> = {
  name: 'shapes.json',
  unreadable: 'ShapesUnreadable',
  parse: (value) => DeliveryShapesSchema.parse(value),
};

/** The shapes that the ingress of this journal has kept; null where it has kept none yet. Throws `KeptFileUnreadable`. */
export const readDeliveryShapes = async (folder: string): Promise<DeliveryShape[] | null> =>
  (await readKeptFile(folder, file))?.shapes ?? null;

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
  const known = await readDeliveryShapes(folder).catch((error: unknown) => {
    parts.onFailure(error);
    return null;
  });
  const keeper = createKeeper({
    ...{ folder, file, writeEveryMs, onFailure: parts.onFailure },
    document: () => ({ version: 1, shapes: notebook.shapes() }),
  });
  const notebook = createShapeNotebook({ ...parts, known: known ?? [], onChange: keeper.changed });
  return {
    note: notebook.note,
    async close() {
      await notebook.settled();
      await keeper.close();
    },
  };
}
