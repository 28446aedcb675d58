/** A word as a shell takes it: an order id may hold blanks. */
export const shellWord = (word: string): string =>
  /^[\w./:@%+=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
