import { readFileSync } from 'node:fs';
import { InvalidInput } from '../domain/errors.js';

const standardInput = 0;

/** Reads a JSON document from a file, or from standard input for "-". Throws `InvalidInput` that names the option. */
export function readJsonInput(file: string): unknown {
  const text = textOf(file);
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidInput(`--input: ${file === '-' ? 'standard input' : file} is not JSON`); // its own words quote the text
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file === '-' ? standardInput : file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
    throw new InvalidInput(`--input: ${file} cannot be read${code}`);
  }
}
