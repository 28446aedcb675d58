import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { historyFiles } from './histories.js';

interface Payloads {
  payloads?: { data?: string }[];
}

/** What an event of a history holds, as far as these tests read it. */
interface Attributes {
  workflowType?: { name?: string };
  signalName?: string;
  input?: Payloads;
  result?: Payloads;
}

const valuesIn = ({ payloads = [] }: Payloads = {}): unknown[] =>
  payloads.map(({ data }) => {
    try {
      return data === undefined ? undefined : JSON.parse(Buffer.from(data, 'base64').toString());
    } catch {
      return undefined; // no JSON, and no run has taken it for any
    }
  });

const toSignal = ({ signalName, input }: Attributes) => [String(signalName), valuesIn(input)[0]] as const;

/** What a recorded run was given and what it gave, as plain JSON. */
function readRun(file: string) {
  const { events } = JSON.parse(readFileSync(file, 'utf8')) as { events: Record<string, Attributes>[] };
  const all = (name: string) => events.flatMap((event) => event[`${name}EventAttributes`] ?? []);
  const [started] = all('workflowExecutionStarted');
  const [completed] = all('workflowExecutionCompleted');
  return {
    file: basename(file),
    type: String(started?.workflowType?.name),
    input: valuesIn(started?.input)[0],
    /** Undefined when the run did not complete. */
    result: valuesIn(completed?.result)[0],
    /** The signals it got, and those that it sent to other runs: name and argument. */
    got: all('workflowExecutionSignaled').map(toSignal),
    sent: all('signalExternalWorkflowExecutionInitiated').map(toSignal),
  };
}

/** All runs that are kept for replay. */
export const recordedRuns = () => historyFiles().map(readRun);
