// The part of Temporal's visibility queries that our lists use.
import type { Execution } from '../server/execution.js';
import { statuses } from '../server/execution.js';

type Condition = (run: Execution) => boolean;

/** The runs that match a query, newest first. Throws for syntax that the simulation does not support. */
export function findRuns(runs: readonly Execution[], query: string): Execution[] {
  const condition = createReader(query).read();
  return runs.filter(condition).reverse();
}

const token = /\s*(?:(\()|(\))|'((?:[^']|'')*)'|(\d+)|([A-Za-z_]\w*)|(!=|=|,))/y;

const words = Object.fromEntries(Object.keys(statuses).map((status) => [status, wordOf(status)]));

function wordOf(status: string): string {
  return status.toLowerCase().replace(/(^|_)(\w)/g, (_, __, letter: string) => letter.toUpperCase());
}

function fieldOf(run: Execution, field: string): string | undefined {
  if (field === 'WorkflowId') return run.workflowId;
  if (field === 'WorkflowType') return run.type;
  if (field === 'ExecutionStatus') return words[run.status];
  if (field === 'TaskQueue') return run.taskQueue;
  if (field === 'RunId') return run.runId;
  const data = run.searchAttributes[field]?.data;
  if (!data) return undefined;
  const value: unknown = JSON.parse(Buffer.from(data).toString());
  return value === null ? undefined : String(value);
}

function createReader(query: string) {
  const tokens = [...tokensOf(query)];
  let at = 0;
  const next = (): string => tokens[at++] ?? '';
  const is = (word: string): boolean => tokens[at]?.toUpperCase() === word;
  const expect = (word: string): void => {
    if (next().toUpperCase() !== word) throw new SyntaxError(`${word} expected in: ${query}`);
  };

  function either(): Condition {
    let left = both();
    while (is('OR')) {
      next();
      const [one, other] = [left, both()];
      left = (run) => one(run) || other(run);
    }
    return left;
  }

  function both(): Condition {
    let left = single();
    while (is('AND')) {
      next();
      const [one, other] = [left, single()];
      left = (run) => one(run) && other(run);
    }
    return left;
  }

  function single(): Condition {
    if (is('(')) {
      next();
      const inner = either();
      expect(')');
      return inner;
    }
    const field = next();
    const operator = next().toUpperCase();
    if (operator === '=' || operator === '!=') {
      const value = text(next());
      return operator === '=' ? (run) => fieldOf(run, field) === value : (run) => fieldOf(run, field) !== value;
    }
    if (operator === 'STARTS_WITH') {
      const start = text(next());
      return (run) => fieldOf(run, field)?.startsWith(start) ?? false;
    }
    if (operator === 'IS') {
      const isNot = is('NOT');
      if (isNot) next();
      expect('NULL');
      return (run) => (fieldOf(run, field) === undefined) !== isNot;
    }
    if (operator === 'IN') return within(field);
    throw new SyntaxError(`the simulation does not know ${operator} in: ${query}`);
  }

  function within(field: string): Condition {
    expect('(');
    const values = new Set<string>();
    while (!is(')')) {
      values.add(text(next()));
      if (is(',')) next();
    }
    expect(')');
    return (run) => values.has(fieldOf(run, field) ?? '\0');
  }

  return { read: (): Condition => (tokens.length === 0 ? () => true : either()) };
}

/** Quoted values carry a leading quote, so that they are not taken for keywords. */
const text = (given: string): string => (given.startsWith("'") ? given.slice(1) : given);

function* tokensOf(query: string): Iterable<string> {
  token.lastIndex = 0;
  while (token.lastIndex < query.trimEnd().length) {
    const found = token.exec(query);
    if (!found) throw new SyntaxError(`the simulation cannot read: ${query}`);
    const [, open, close, quoted, number, word, sign] = found;
    yield quoted === undefined ? (open ?? close ?? number ?? word ?? sign ?? '') : `'${quoted.replaceAll("''", "'")}`;
  }
}
