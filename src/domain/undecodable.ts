/**
 * Stands for a payload that our converter cannot read. Every parser refuses it by name, so what a stranger sends is refused or
 * ignored, where an error in the converter would stop the run. `reason` is one line and holds no part of the payload.
 */
export class UndecodablePayload {
  readonly reason: string;
  /** Encrypted: a worker with other keys may read it. `missing`: we do not hold its key; null: no key would help. */
  readonly key: 'missing' | 'damaged' | null;

  constructor(reason: string, key: UndecodablePayload['key'] = null) {
    this.reason = reason;
    this.key = key;
  }
}

/** In the metadata of an encrypted payload that its key does not open. Only our codec sets it, on the way to our converter. */
export const damagedField = 'damaged';
