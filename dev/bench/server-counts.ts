import { setTimeout as sleep } from 'node:timers/promises';

/** What a Temporal server has counted since its start, by name. */
export type Counts = ReadonlyMap<string, number>;

/** The server shows its counters a second late. */
const showsWithinMs = 2_000;

const labelOf = (labels: string, name: string): string | undefined =>
  new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(labels)?.[1];

/** Reads the text at its port for metrics. `nameOf`: under which name a line counts, if it does. */
function parseCounts(
  text: string,
  nameOf: (metric: string, label: (name: string) => string | undefined) => string | undefined,
): Counts {
  const counts = new Map<string, number>();
  for (const [, metric = '', labels = '', count] of text.matchAll(/^(\w+)\{(.*)\} (\S+)$/gm)) {
    const name = nameOf(metric, (label) => labelOf(labels, label));
    if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + Number(count));
  }
  return counts;
}

/** What Temporal Cloud would bill in one namespace, in the words of the server's metric `action`: an attempt of an activity, an upsert. */
export const parseActions = (text: string, namespace = 'default'): Counts =>
  parseCounts(text, (metric, label) =>
    metric === 'action' && label('namespace') === namespace ? label('action_type') : undefined,
  );

/** How often the server has called its database, by operation. Calls about visibility begin with that word. */
export const parseDatabaseCalls = (text: string): Counts =>
  parseCounts(text, (metric, label) => {
    const [, visibility, isOne] = /^(visibility_)?persistence_requests(_total)?$/.exec(metric) ?? [
      undefined,
      undefined,
      null,
    ];
    const operation = label('operation');
    if (isOne === null || operation === undefined) return undefined;
    return visibility ? `visibility ${operation}` : operation;
  });

/** How often clients have called the server in one namespace, by the call. */
export const parseCalls = (text: string, namespace = 'default'): Counts =>
  parseCounts(text, (metric, label) =>
    /^service_requests(_total)?$/.test(metric) && label('namespace') === namespace ? label('operation') : undefined,
  );

/** Does this operation change the database? */
export const isWrite = (operation: string): boolean =>
  !/^(visibility )?(Get(?!OrCreate)|List|Read|Count|Scan|Assert)/.test(operation);

/** Asks a running server; none without the address of its metrics. */
export const countsOf = async (metricsUrl: string | null, parse: (text: string) => Counts): Promise<Counts> =>
  metricsUrl === null ? new Map() : parse(await (await fetch(metricsUrl)).text());

/** What came since the first count. */
export const countsBetween = (before: Counts, after: Counts): Counts =>
  new Map([...after].map(([name, count]) => [name, count - (before.get(name) ?? 0)]));

/** The actions while something went on. */
export async function actionsWhile(
  { metricsUrl }: { metricsUrl: string | null },
  what: () => Promise<unknown>,
): Promise<Counts> {
  const look = () => sleep(showsWithinMs).then(() => countsOf(metricsUrl, parseActions));
  const before = await look();
  await what();
  return countsBetween(before, await look());
}

export const sumOf = (counts: Counts, isCounted: (name: string) => boolean = () => true): number =>
  [...counts].reduce((sum, [name, count]) => (isCounted(name) ? sum + count : sum), 0);

export const isHeartbeat = (action: string): boolean => action === 'grpc_RecordActivityTaskHeartbeat';
