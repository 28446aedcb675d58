/** How often the server has called its database, by operation. */
export type DatabaseCalls = ReadonlyMap<string, number>;

const line = /^(visibility_)?persistence_requests(?:_total)?\{(.*)\} (\S+)$/gm;

/** Reads the text that a Temporal server shows at its port for metrics. Calls about visibility begin with that word. */
export function parseDatabaseCalls(text: string): DatabaseCalls {
  const calls = new Map<string, number>();
  for (const [, visibility, labels = '', count] of text.matchAll(line)) {
    const operation = /(?:^|,)operation="([^"]*)"/.exec(labels)?.[1];
    if (operation === undefined) continue;
    const name = visibility ? `visibility ${operation}` : operation;
    calls.set(name, (calls.get(name) ?? 0) + Number(count));
  }
  return calls;
}

/** Does this operation change the database? */
export const isWrite = (operation: string): boolean =>
  !/^(visibility )?(Get(?!OrCreate)|List|Read|Count|Scan|Assert)/.test(operation);

/** Asks a running server. */
export const databaseCallsOf = async (metricsUrl: string): Promise<DatabaseCalls> =>
  parseDatabaseCalls(await (await fetch(metricsUrl)).text());
