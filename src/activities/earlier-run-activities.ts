import type { EarlierRun, EarlierRunKey } from '../domain/earlier-run.js';

/** Asks a run that has ended what it leaves. Null when it is not known any more, or cannot say. Throws while Temporal cannot be asked. */
export type EarlierRunReader = (key: EarlierRunKey) => Promise<EarlierRun | null>;

/** What the activity below works with. */
export interface EarlierRunActivityPorts {
  readRun: EarlierRunReader;
}

/** The activity that lets a run go on from an earlier one, as workflows see it. */
export type EarlierRunActivities = ReturnType<typeof createEarlierRunActivities>;

/** It calls Temporal and no service, so it runs beside the token requests. */
export const createEarlierRunActivities = ({ readRun }: EarlierRunActivityPorts) => ({
  readEarlierRun: (key: EarlierRunKey): Promise<EarlierRun | null> => readRun(key),
});
