type Env = Readonly<Record<string, string | undefined>>;

/** The command as the reader of a hint can type it. */
export const commandLine = (env: Env, ...words: string[]): string => [programName(env), ...words.map(quoted)].join(' ');

/** A checkout has no `faretrail` on its path; who came through its script can do so again. */
export const programName = (env: Env): string =>
  env.npm_lifecycle_event === 'starter' ? 'npm run starter --' : 'faretrail';

/** Help and messages name commands at the start of an indented line or after a colon; here as `commandLine` has them. */
export const withProgramName = (text: string, env: Env): string =>
  text.replaceAll(/(?<=^ {2}|: )faretrail (?=[a-z])/gm, `${programName(env)} `);

/** A word as a shell takes it: an order id may hold blanks. */
export const quoted = (word: string): string =>
  /^[\w.:@%+=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
