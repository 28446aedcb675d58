/** A message of the servers, and how often they logged it. */
type LoggedMessage = [message: string, count: number];

interface Entry {
  level: string;
  msg: string;
  error?: string;
}

/** Counts warnings and errors in logs of Temporal servers, the most frequent first. Numbers, ids and addresses do not tell messages apart. */
export function countMessages(logs: readonly string[]): LoggedMessage[] {
  const counts = new Map<string, number>();
  for (const line of logs.flatMap((log) => log.split('\n'))) {
    const entry = toEntry(line);
    if (!entry) continue;
    const { level, msg, error } = entry;
    const message = [level, msg, error].filter(Boolean).join(': ').replaceAll(ids, 'N').slice(0, longest);
    counts.set(message, (counts.get(message) ?? 0) + 1);
  }
  return [...counts].sort(([, a], [, b]) => b - a);
}

const ids = /[0-9a-f]{8}-[0-9a-f-]{27}|\d+(\.\d+)*/g;
const longest = 160;

/** Programs also write lines that are no entries, such as stacks. */
function toEntry(line: string): Entry | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    return JSON.parse(line) as Entry;
  } catch {
    return undefined; // cut off by a kill
  }
}
