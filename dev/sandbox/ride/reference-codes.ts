import { randomUUID } from 'node:crypto';

/** One active code of a reference field. */
export interface ReferenceCode {
  referenceFieldId: string;
  id: string;
  value: string;
}

/** The result of one item: added, or why not. */
export type AddedCode = ReferenceCode | 'invalid_format' | 'already_exists';

export type ReferenceCodes = ReturnType<typeof createReferenceCodes>;

/** All active reference codes of a sandbox. */
export function createReferenceCodes() {
  const active: ReferenceCode[] = [];
  return {
    /** Adds a code. Its value must be new and consist of letters and digits. */
    add(referenceFieldId: string, value: unknown): AddedCode {
      if (typeof value !== 'string' || !/^[\p{L}\p{N}]+$/u.test(value)) return 'invalid_format';
      const isThere = active.some((code) => code.referenceFieldId === referenceFieldId && code.value === value);
      if (isThere) return 'already_exists';
      const added = { referenceFieldId, id: randomUUID(), value };
      active.push(added);
      return added;
    },
    all: (): ReferenceCode[] => [...active],
  };
}
