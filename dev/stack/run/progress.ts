/** Prints lines of progress to stderr, each with the seconds since now: stdout belongs to results. */
export function progress(name: string): (line: string) => void {
  const startedAt = Date.now();
  return (line) => {
    const seconds = Math.round((Date.now() - startedAt) / 1_000);
    process.stderr.write(`${name} ${String(seconds).padStart(4)} s  ${line}\n`);
  };
}
