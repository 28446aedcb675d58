/** Readers of files that settings name. */
interface FileReaders {
  /** The text of a file. The path stays out of the problem: a secret may stand there by mistake. */
  textFile(name: string, path: string): string | undefined;
  /** A secret kept in a file: one newline at its end is an editor's, not part of the secret. */
  secretFile(name: string, path: string): string | undefined;
}

/** A file that cannot be used becomes a problem of the setting that names it, and `undefined`. */
export function createFileReaders(
  readFile: (path: string) => string,
  refuse: (name: string, problem: string) => undefined,
): FileReaders {
  function textFile(name: string, path: string): string | undefined {
    try {
      return readFile(path);
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
      return refuse(name, `the file cannot be read${code}; check its path and permissions`);
    }
  }

  return {
    textFile,
    secretFile(name, path) {
      const secret = textFile(name, path)?.replace(/\r?\n$/, '');
      return secret === '' ? refuse(name, 'the file is empty; put the secret in it') : secret;
    },
  };
}
