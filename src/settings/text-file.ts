import { readFileSync } from 'node:fs';
import { TextDecoder } from 'node:util';
import { InvalidInput } from '../domain/errors.js';

// Files that people and other systems write for us: settings, secrets, inputs and lists of orders.

const asUtf8 = 'save it as UTF-8';

/** For a text that begins like this: UTF-8, or UTF-16 with a byte order mark. The mark is no part of the text. Throws `InvalidInput`. */
export function decoderFor(head: Uint8Array, options?: { fatal: boolean }): TextDecoder {
  const mark = Buffer.from(head.subarray(0, 4)).toString('latin1');
  if (mark.startsWith('\xfe\xff')) return new TextDecoder('utf-16be', options);
  if (/^\xff\xfe(?!\0\0)/.test(mark)) return new TextDecoder('utf-16le', options);
  if (!mark.includes('\0')) return new TextDecoder('utf-8', options);
  throw new InvalidInput(`the file is in UTF-16 without a byte order mark, or in UTF-32; ${asUtf8}`);
}

/** Its whole text. `0`: standard input. Throws the error of the system, or `InvalidInput`; neither holds a part of the text. */
export function readTextFile(path: string | 0): string {
  const bytes = readFileSync(path);
  const decoder = decoderFor(bytes, { fatal: true });
  try {
    return decoder.decode(bytes);
  } catch {
    throw new InvalidInput(`the file is not in UTF-8; ${asUtf8}`);
  }
}

/** What the file or shell around a value has left in it, with the remedy; null: nothing. It may be a secret, so no part of it is told. */
export function strayIn(value: string): string | null {
  if (/[\r\n]$/.test(value)) return 'ends with a line break, as from a file with Windows line ends; remove it';
  if (/[\p{Cc}\p{Cf}]/u.test(value)) return 'holds a character that cannot be seen; type it anew';
  if (/^(["']).*\1$/s.test(value) && value.length > 1) return 'has quotes around it; remove them';
  return null;
}
