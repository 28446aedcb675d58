import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { defaultPayloadConverter } from '@temporalio/common';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { bundleWorkflowCode, type InjectedSinks, type Logger, Worker, type WorkerOptions } from '@temporalio/worker';
import type { WorkflowInfo } from '@temporalio/workflow';
import { isOnlyRead } from '../../src/domain/call.js';
import { toWorkerDataConverter } from '../../src/sealing/data-converter.js';
import { ownDelays } from '../../src/workflows/activity-options.js';
import { type Command, type CommandsByEvent, recordedCommands, requireSame, sentCommands } from './commands.js';
import type { ReplaySinks } from './recorder.js';

/** The mutants that a run met, and those that its worker met when it loaded the run. */
export interface Met {
  reached: Set<string>;
  early: Set<string>;
}

/** What a run did in its replay, if its bundle has our recorder. */
export interface Replayed extends Met {
  commands: CommandsByEvent;
}

/** One worker that replays histories one after the other: to start one for each takes far longer than the replay. */
export interface Replayer {
  /** Rejects when the workflows do not do what the history says. */
  replay(history: unknown, workflowId: string): Promise<Replayed>;
  /** Does its worker still take histories? A run that never yields ends it. */
  isOpen(): boolean;
  close(): Promise<void>;
}

interface Told extends Met {
  taskQueue: string;
  activations: Command[][];
}

export function startReplayer(workflowBundle: NonNullable<WorkerOptions['workflowBundle']>): Replayer {
  const asked = new Readable({ objectMode: true, read: () => undefined });
  const waiting: ((end: Replayed | Error) => void)[] = [];
  /** By run. */
  const told = new Map<string, Told>();
  const toldBy = ({ runId, taskQueue }: Pick<WorkflowInfo, 'runId' | 'taskQueue'>): Told => {
    const given = told.get(runId) ?? { taskQueue, activations: [], reached: new Set(), early: new Set() };
    told.set(runId, given);
    return given;
  };
  const sinks: InjectedSinks<ReplaySinks> = {
    replay: {
      concluded: { callDuringReplay: true, fn: (info, commands) => void toldBy(info).activations.push(commands) },
      reached: {
        callDuringReplay: true,
        fn(info, mutants, early) {
          for (const mutant of mutants) toldBy(info).reached.add(mutant);
          for (const mutant of early) toldBy(info).early.add(mutant);
        },
      },
    },
  };
  async function answer(): Promise<void> {
    const dataConverter = toWorkerDataConverter({ keys: null, encrypts: false });
    const options = { workflowBundle, dataConverter, sinks };
    for await (const { runId, error } of Worker.runReplayHistories(options, asked)) {
      const { taskQueue, activations, ...met } = toldBy({ runId, taskQueue: '' });
      told.delete(runId);
      waiting.shift()?.(error ?? { commands: sentCommands(activations, taskQueue), ...met });
    }
  }
  let isOpen = true;
  const answered = answer()
    .catch((error: Error) => {
      for (const tell of waiting.splice(0)) tell(error);
    })
    .finally(() => {
      isOpen = false;
    });
  return {
    replay: (history, workflowId) =>
      new Promise((resolve, reject) => {
        waiting.push((end) => (end instanceof Error ? reject(end) : resolve(end)));
        asked.push({ history, workflowId });
      }),
    isOpen: () => isOpen,
    async close() {
      asked.push(null);
      await answered;
    },
  };
}

/** What today's code does in another way than the code that made the histories. */
const doneAnew: Record<string, string[]> = {
  // Its last task found the result of a read and signals. Another of them wins today, and the next run reads again.
  'order-with-too-many-signals': ['workflowExecutionContinuedAsNew'],
  // The read after that of a person says no longer that it is for that person.
  'order-with-attention-about-the-ride': ['activityTaskScheduled'],
  // The notice holds the text of the attention, which names the command since 0.3.0.
  'ride-in-doubt-in-the-store': ['activityTaskScheduled'],
  // Refusals of changes in doubt name the command since 0.3.0.
  'ride-refused-in-doubt-of-0-2': ['workflowExecutionUpdateCompleted'],
  // Deliveries that led to no change no longer make an order count as pushed.
  'order-refreshed-during-a-read': ['workflowExecutionCompleted', 'workflowExecutionUpdateCompleted'],
  'order-with-undecodable-signals': ['workflowExecutionCompleted', 'workflowExecutionUpdateCompleted'],
  // A claim stands at its time in the timeline.
  'order-with-deliveries': ['workflowExecutionCompleted'],
  // The refusal of an unknown field lists the known ones, `quote` among them since 0.3.0.
  'ride-with-bad-input': ['workflowExecutionFailed'],
};
const optionsAnew: Record<string, (recorded: Record<string, unknown>) => void> = {
  watchResets: (recorded) => Object.assign(recorded, { startToCloseTimeout: 60_000 }),
  // Temporal repeats an attempt that only reads, which a run of 0.2.0 did itself.
  attemptCall(recorded) {
    if (recorded.scheduleToStartTimeout === undefined || !isOnlyRead(JSON.parse(String(recorded.input)))) return;
    recorded.scheduleToCloseTimeout = recorded.scheduleToStartTimeout;
    delete recorded.scheduleToStartTimeout;
    recorded.retryPolicy = ownDelays;
  },
};

/** A recorded history by its JSON. Rejects when the workflows do or say anything else. Gives the mutants that they met. */
export async function replayToTheLetter(replayer: Replayer, name: string, json: string, mutant = ''): Promise<Met> {
  const history = historyFromJSON(JSON.parse(json));
  const started = history.events?.[0]?.workflowExecutionStartedEventAttributes;
  if (mutant && started) started.header = { fields: { mutant: defaultPayloadConverter.toPayload(mutant) } };
  const { commands, ...met } = await replayer.replay(history, started?.workflowId ?? '');
  requireToTheLetter(name, commands, history.events ?? []);
  return met;
}

/** Throws unless these commands are those of the history, but for what is done anew. */
export function requireToTheLetter(name: string, commands: CommandsByEvent, events: object[]): void {
  const recorded = recordedCommands(events);
  for (const command of recorded.activityTaskScheduled ?? []) optionsAnew[String(command.activityType)]?.(command);
  for (const kind of doneAnew[name] ?? []) if (commands[kind]) recorded[kind] = commands[kind];
  requireSame(commands, recorded);
}

const beside = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** The workflows of a checkout with our recorder, as one script. */
export async function bundleRecorded(root: string, logger: Logger): Promise<string> {
  const workflowsPath = `${root}/src/workflows/index.ts`;
  const workflowInterceptorModules = [`${root}/src/workflows/interceptors`, beside('./recorder')];
  const converters = {
    payloadConverterPath: `${root}/src/sealing/payload-converter.ts`,
    failureConverterPath: `${root}/src/sealing/plain-failures.ts`,
  };
  const preloadModules = [workflowsPath, ...workflowInterceptorModules, ...Object.values(converters)];
  const options = { workflowsPath, preloadModules, workflowInterceptorModules, logger, ...converters };
  return (await bundleWorkflowCode(options)).code;
}
