import { randomInt } from 'node:crypto';

/** One active code of a reference field. */
export interface ReferenceCode {
  referenceFieldId: string;
  id: number;
  value: string;
}

/** The result of one item: added, or why not. */
export type AddedCode = ReferenceCode | 'INVALID_VALUE' | 'ALREADY_EXISTS';

export type ReferenceCodes = ReturnType<typeof createReferenceCodes>;

/** All active reference codes of a sandbox. */
export function createReferenceCodes() {
  const active: ReferenceCode[] = [];
  return {
    /** Adds a code. Its value must be new and consist of letters and digits. */
    add(referenceFieldId: string, value: unknown): AddedCode {
      if (typeof value !== 'string' || !/^[\p{L}\p{N}]+$/u.test(value)) return 'INVALID_VALUE';
      const isThere = active.some((code) => code.referenceFieldId === referenceFieldId && code.value === value);
      if (isThere) return 'ALREADY_EXISTS';
      const added = { referenceFieldId, id: randomInt(1, 2 ** 40), value };
      active.push(added);
      return added;
    },
    all: (): ReferenceCode[] => [...active],
  };
}
