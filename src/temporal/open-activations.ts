import { setTimeout as pause } from 'node:timers/promises';
import type { Worker } from '@temporalio/worker';
import protobuf from 'protobufjs';

// While a local activity is under way, the core of the SDK (1.24.0) is not safe from queries. It takes a query that comes as a task of its own
// for a new workflow task, and loses the one that it has (`buffer_wft_if_outstanding_work`): that ends after ten seconds, and what its code
// did is never reported, so the run is blocked later. And it answers a query that comes with a task at once (`prepare_complete_resp`): if the
// local activity ends meanwhile, the run hears of its result one task later than a replay does.
//
// Neither happens while the core waits for an activation to be completed. So a run asks for one more activation together with each local
// activity (`keepOpen` in `src/workflows/interceptors.ts`). It stays here until the local activity has ended. The run hears what it says
// together with the result: an activation of its own would take the worker a fifth of a millisecond of CPU time.

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
    Activation: {
      fields: {
        runId: { type: 'string', id: 1 },
        isReplaying: { type: 'bool', id: 3 },
        news: { rule: 'repeated', type: 'bytes', id: 5 },
      },
    },
    News: { fields: { resolveActivity: { type: 'Resolved', id: 8 } } },
    Resolved: { fields: { seq: { type: 'uint32', id: 1 }, isLocal: { type: 'bool', id: 3 } } },
    Command: {
      fields: { scheduleActivity: { type: 'Scheduled', id: 2 }, scheduleLocalActivity: { type: 'bytes', id: 16 } },
    },
    Scheduled: { fields: { seq: { type: 'uint32', id: 1 }, activityType: { type: 'string', id: 3 } } },
    Success: {
      fields: { commands: { rule: 'repeated', type: 'Command', id: 1 }, versioningBehavior: { type: 'int32', id: 7 } },
    },
    Completion: { fields: { runId: { type: 'string', id: 1 }, successful: { type: 'Success', id: 2 } } },
    Execution: { fields: { runId: { type: 'string', id: 2 } } },
    Start: { fields: { execution: { type: 'Execution', id: 3 }, isLocal: { type: 'bool', id: 17 } } },
    Task: { fields: { token: { type: 'bytes', id: 1 }, start: { type: 'Start', id: 3 } } },
  },
});

interface Parts {
  Activation: { runId: string; isReplaying: boolean; news: Uint8Array[] };
  News: { resolveActivity: { seq: number; isLocal: boolean } | null };
  Completion: { runId: string; successful: { commands: Command[]; versioningBehavior: number } | null };
  Task: { token: Uint8Array; start: { execution: { runId: string }; isLocal: boolean } | null };
}

interface Command {
  scheduleActivity: { seq: number; activityType: string } | null;
  scheduleLocalActivity: Uint8Array;
}

const typeOf = (name: keyof Parts): protobuf.Type => parts.lookupType(name);
const read = <Name extends keyof Parts>(name: Name, bytes: ArrayBuffer | Uint8Array): Parts[Name] =>
  typeOf(name).decode(bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes)) as unknown as Parts[Name];
const readSent = <Name extends keyof Parts>(name: Name, bytes: Buffer): Parts[Name] =>
  typeOf(name).decodeDelimited(bytes) as unknown as Parts[Name];

/** The activity by which a run asks for one more activation (`src/workflows/interceptors.ts`). */
const askingActivity = 'noActivity';
/** Longer than any of our local activities takes. One that a worker gives up when it is stopped never ends here. */
const longestMs = 3_000;

/** Local activities of a run, begun together. `asking`: by the end of these activities a run asks for one more activation. */
interface UnderWay {
  count: number;
  asking: readonly number[];
  versioningBehavior: number;
  over: Promise<void>;
  end(): void;
}

/** Keeps an activation of a run open while a local activity of it is under way. Call it before the worker runs. */
export function keepActivationsOpen(worker: Worker, mostMs = longestMs): void {
  const { nativeWorker: core } = worker as unknown as { nativeWorker: Core };
  const { pollWorkflowActivation, completeWorkflowActivation, pollActivityTask, completeActivityTask } = core;
  const replaying = new Set<string>();
  const underWay = new Map<string, UnderWay>();
  /** What the activations that stayed here say, until the run hears it. */
  const unheard = new Map<string, Uint8Array[]>();
  /** Of completions here. They end the worker, as others do; after its end nobody asks. */
  const failures: unknown[] = [];
  /** The run of each local activity, by the token of its task. */
  const runs = new Map<string, string>();

  async function keepOpen(runId: string, { over, versioningBehavior }: UnderWay): Promise<void> {
    await Promise.race([over, pause(mostMs, undefined, { ref: false })]);
    underWay.delete(runId);
    await completeWorkflowActivation(toCompletion(runId, versioningBehavior));
  }

  core.pollWorkflowActivation = async () => {
    for (;;) {
      const bytes = await pollWorkflowActivation();
      if (failures.length > 0) throw failures[0];
      const { runId, isReplaying, news } = read('Activation', bytes);
      if (isReplaying) replaying.add(runId);
      else replaying.delete(runId);
      const local = underWay.get(runId);
      if (local && news.length > 0 && news.every(isOneOf(local.asking))) {
        unheard.set(runId, news);
        keepOpen(runId, local).catch((error: unknown) => failures.push(error));
      } else {
        const said = unheard.get(runId);
        unheard.delete(runId);
        return said && news.some(isResult) ? withNews(bytes, said) : bytes;
      }
    }
  };
  core.completeWorkflowActivation = async (completion) => {
    const { runId, successful } = readSent('Completion', completion);
    const local = successful && !replaying.has(runId) ? begin(successful) : null; // a replay finds the results in the history
    if (local) underWay.set(runId, local);
    else underWay.delete(runId);
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
    if (local.count === 0) local.end();
  };
}

const isOneOf =
  (asking: readonly number[]) =>
  (one: Uint8Array): boolean => {
    const { resolveActivity } = read('News', one);
    return resolveActivity !== null && !resolveActivity.isLocal && asking.includes(resolveActivity.seq);
  };

const isResult = (one: Uint8Array): boolean => read('News', one).resolveActivity?.isLocal === true;

/** Entries of a list may stand anywhere in a message. */
function withNews(activation: ArrayBuffer, news: Uint8Array[]): ArrayBuffer {
  const more = typeOf('Activation').encode({ news }).finish();
  const all = new Uint8Array(activation.byteLength + more.length);
  all.set(new Uint8Array(activation));
  all.set(more, activation.byteLength);
  return all.buffer;
}

function toCompletion(runId: string, versioningBehavior: number): Buffer {
  const completion = { runId, successful: { versioningBehavior } };
  return Buffer.from(typeOf('Completion').encodeDelimited(completion).finish());
}

/** Null if the run began no local activity. */
function begin({ commands, versioningBehavior }: NonNullable<Parts['Completion']['successful']>): UnderWay | null {
  const count = commands.filter(({ scheduleLocalActivity: { length } }) => length > 0).length;
  if (count === 0) return null;
  const asking = commands.flatMap(({ scheduleActivity: one }) =>
    one?.activityType === askingActivity ? [one.seq] : [],
  );
  let end = (): void => undefined;
  const over = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { count, asking, versioningBehavior, over, end };
}

const toKey = (token: Uint8Array): string => Buffer.from(token).toString('base64');
