import { DeliveryTallySchema, type TallyLine } from '../../contracts/delivery-tally.js';
import { createKeeper, type KeptFile, readKeptFile } from '../kept-file.js';
import { createTally, type Tally } from './tally.js';

const file: KeptFile<ReturnType<typeof DeliveryTallySchema.parse>> = {
  name: 'tally.json',
  unreadable: 'TallyUnreadable',
  parse: (value) => DeliveryTallySchema.parse(value),
};

/** What the ingress of this journal has refused, and what came late; null where nothing was. Throws `KeptFileUnreadable`. */
export const readDeliveryTally = async (folder: string): Promise<TallyLine[] | null> =>
  (await readKeptFile(folder, file))?.lines ?? null;

/** A tally that a file keeps. */
export interface KeptTally extends Pick<Tally, 'add'> {
  /** Writes what is new. Never rejects. */
  close(): Promise<void>;
}

interface FileParts {
  folder: string;
  onFailure(error: unknown): void;
  now?: () => number;
  /** The shortest time between two writes. */
  writeEveryMs?: number;
}

/** Opens the tally of a folder that this process has to itself. A file that cannot be read is replaced. */
export async function openTally({ folder, onFailure, now, writeEveryMs = 5_000 }: FileParts): Promise<KeptTally> {
  const known = await readDeliveryTally(folder).catch((error: unknown) => {
    onFailure(error);
    return null;
  });
  const keeper = createKeeper({
    ...{ folder, file, writeEveryMs, onFailure },
    document: () => ({ version: 1, lines: tally.lines() }),
  });
  const tally = createTally(known ?? [], keeper.changed, now);
  return { add: tally.add, close: keeper.close };
}
