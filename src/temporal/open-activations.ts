import { setTimeout as pause } from 'node:timers/promises';
import type { Worker } from '@temporalio/worker';
import protobuf from 'protobufjs';

// While a local activity is under way, the core of the SDK (1.24.0) is not safe from queries. It takes a query that comes as a task of its own
// for a new workflow task, and loses the one that it has (`buffer_wft_if_outstanding_work`): that ends after ten seconds, and what its code
// did is never reported, so the run is blocked later. And it answers a query that comes with a task at once (`prepare_complete_resp`): if the
// local activity ends meanwhile, the run hears of its result one task later than a replay does.
//
// Neither happens while the core waits for an activation to be completed. So a run asks for one more activation together with each local
// activity (`keepOpen` in `src/workflows/interceptors.ts`), and here that one is completed once the local activity has ended.

/** What a worker uses of the core, each message as bytes. What it sends has its length in front. */
interface Core {
  pollWorkflowActivation(): Promise<ArrayBuffer>;
  completeWorkflowActivation(completion: Buffer): Promise<void>;
  pollActivityTask(): Promise<ArrayBuffer>;
  completeActivityTask(completion: Buffer): Promise<void>;
}

/** The fields that count here; decoding passes over all others. */
const parts = protobuf.Root.fromJSON({
  nested: {
    Activation: { fields: { runId: { type: 'string', id: 1 }, isReplaying: { type: 'bool', id: 3 } } },
    Command: { fields: { scheduleLocalActivity: { type: 'bytes', id: 16 } } },
    Success: { fields: { commands: { rule: 'repeated', type: 'Command', id: 1 } } },
    Completion: { fields: { runId: { type: 'string', id: 1 }, successful: { type: 'Success', id: 2 } } },
    Execution: { fields: { runId: { type: 'string', id: 2 } } },
    Start: { fields: { execution: { type: 'Execution', id: 3 }, isLocal: { type: 'bool', id: 17 } } },
    Task: { fields: { token: { type: 'bytes', id: 1 }, start: { type: 'Start', id: 3 } } },
  },
});

interface Parts {
  Activation: { runId: string; isReplaying: boolean };
  Completion: { runId: string; successful: { commands: { scheduleLocalActivity: Uint8Array }[] } | null };
  Task: { token: Uint8Array; start: { execution: { runId: string }; isLocal: boolean } | null };
}

const typeOf = (name: keyof Parts): protobuf.Type => parts.lookupType(name);
const read = <Name extends keyof Parts>(name: Name, bytes: ArrayBuffer): Parts[Name] =>
  typeOf(name).decode(new Uint8Array(bytes)) as unknown as Parts[Name];
const readSent = <Name extends keyof Parts>(name: Name, bytes: Buffer): Parts[Name] =>
  typeOf(name).decodeDelimited(bytes) as unknown as Parts[Name];

/** Longer than any of our local activities takes. One that a worker gives up when it is stopped never ends here. */
const longestMs = 3_000;

/** Local activities of a run. */
interface UnderWay {
  count: number;
  over: Promise<void>;
  end(): void;
}

/** Completes the activations of a run only while no local activity of it is under way. Call it before the worker runs. */
export function keepActivationsOpen(worker: Worker, mostMs = longestMs): void {
  const { nativeWorker: core } = worker as unknown as { nativeWorker: Core };
  const { pollWorkflowActivation, completeWorkflowActivation, pollActivityTask, completeActivityTask } = core;
  const replaying = new Set<string>();
  const underWay = new Map<string, UnderWay>();
  /** The run of each local activity, by the token of its task. */
  const runs = new Map<string, string>();

  core.pollWorkflowActivation = async () => {
    const bytes = await pollWorkflowActivation();
    const { runId, isReplaying } = read('Activation', bytes);
    if (isReplaying) replaying.add(runId);
    else replaying.delete(runId);
    return bytes;
  };
  core.completeWorkflowActivation = async (completion) => {
    const { runId, successful } = readSent('Completion', completion);
    const local = underWay.get(runId);
    if (local) await Promise.race([local.over, pause(mostMs, undefined, { ref: false })]);
    underWay.delete(runId);
    const begun = successful?.commands.filter(({ scheduleLocalActivity: { length } }) => length > 0).length ?? 0;
    if (begun > 0 && !replaying.has(runId)) underWay.set(runId, begin(begun)); // a replay finds the results in the history
    await completeWorkflowActivation(completion);
  };
  core.pollActivityTask = async () => {
    const bytes = await pollActivityTask();
    const { token, start } = read('Task', bytes);
    if (start?.isLocal) runs.set(toKey(token), start.execution.runId);
    return bytes;
  };
  core.completeActivityTask = async (completion) => {
    await completeActivityTask(completion);
    const key = toKey(readSent('Task', completion).token);
    const runId = runs.get(key);
    if (runId === undefined) return;
    runs.delete(key);
    const local = underWay.get(runId);
    if (!local) return;
    local.count -= 1;
    if (local.count > 0) return;
    underWay.delete(runId);
    local.end();
  };
}

function begin(count: number): UnderWay {
  let end = (): void => undefined;
  const over = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { count, over, end };
}

const toKey = (token: Uint8Array): string => Buffer.from(token).toString('base64');
