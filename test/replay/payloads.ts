import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { historyFiles } from './releases.js';

/** What a recorded run was given and what it gave, as plain JSON. */
export interface RecordedRun {
  file: string;
  type: string;
  input: unknown;
  /** Undefined when the run did not complete. */
  result: unknown;
  /** Arguments of the signals it got, by name. */
  got: [signal: string, argument: unknown][];
  /** Arguments of the signals it sent to other runs. */
  sent: unknown[];
}

interface Payloads {
  payloads?: { data?: string }[];
}

type Attributes = Record<string, Payloads | { name?: string } | string | undefined>;

const valuesIn = (payloads: unknown): unknown[] =>
  ((payloads as Payloads | undefined)?.payloads ?? []).map(({ data }) => {
    try {
      return data === undefined ? undefined : JSON.parse(Buffer.from(data, 'base64').toString());
    } catch {
      return undefined; // no JSON, and no run has taken it for any
    }
  });

function readRun(file: string): RecordedRun {
  const { events } = JSON.parse(readFileSync(file, 'utf8')) as { events: Record<string, Attributes>[] };
  const all = (name: string): Attributes[] =>
    events.flatMap((event) => (event[`${name}EventAttributes`] ? [event[`${name}EventAttributes`] as Attributes] : []));
  const [started] = all('workflowExecutionStarted');
  const [completed] = all('workflowExecutionCompleted');
  return {
    file: basename(file),
    type: String((started?.workflowType as { name?: string } | undefined)?.name),
    input: valuesIn(started?.input)[0],
    result: valuesIn(completed?.result)[0],
    got: all('workflowExecutionSignaled').map(({ signalName, input }) => [String(signalName), valuesIn(input)[0]]),
    sent: all('signalExternalWorkflowExecutionInitiated').map(({ input }) => valuesIn(input)[0]),
  };
}

/** All runs that are kept for replay. */
export const recordedRuns = (): RecordedRun[] => historyFiles().map(readRun);
