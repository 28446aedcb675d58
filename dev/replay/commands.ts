import { deepStrictEqual } from 'node:assert';

type Fields = Record<string, unknown>;

/** What a run did, in its order, by the kind of event that the server writes for it. */
export type CommandsByEvent = Record<string, Record<string, unknown>[]>;

/** Commands and their events. A replay compares the others, which say nothing more: patches, and what cancels timers and activities. */
const eventOf: Record<string, string> = {
  scheduleActivity: 'activityTaskScheduled',
  startTimer: 'timerStarted',
  startChildWorkflowExecution: 'startChildWorkflowExecutionInitiated',
  signalExternalWorkflowExecution: 'signalExternalWorkflowExecutionInitiated',
  upsertWorkflowSearchAttributes: 'upsertWorkflowSearchAttributes',
  modifyWorkflowProperties: 'workflowPropertiesModified',
  updateResponse: 'workflowExecutionUpdateCompleted',
  continueAsNewWorkflowExecution: 'workflowExecutionContinuedAsNew',
  completeWorkflowExecution: 'workflowExecutionCompleted',
  failWorkflowExecution: 'workflowExecutionFailed',
  cancelWorkflowExecution: 'workflowExecutionCanceled',
};

/** What the run says. Events hold more: links to other events, and what the server adds. */
const said = new Set(
  `activityType workflowType taskQueue workflowId workflowExecution signalName input header result failure message applicationFailureInfo type
  nonRetryable details cause memo upsertedMemo searchAttributes summary startToFireTimeout scheduleToCloseTimeout scheduleToStartTimeout
  startToCloseTimeout heartbeatTimeout retryPolicy initialInterval backoffCoefficient maximumInterval maximumAttempts priority priorityKey
  parentClosePolicy workflowIdReusePolicy`.split(/\s+/),
);
const maps = new Set(['memo', 'upsertedMemo', 'searchAttributes', 'header']);
/** Of which an event has one field alone, and a command has the value itself. */
const wrappers = ['payloads', 'fields', 'indexedFields', 'name', 'workflowId'];
/** Fields of commands that events call otherwise. */
const nameInEvent: Record<string, string> = {
  ...{
    arguments: 'input',
    args: 'input',
    headers: 'header',
    completed: 'result',
    success: 'result',
    rejected: 'failure',
  },
};

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null;
const isSomething = (value: unknown): boolean => (isFields(value) ? Object.keys(value).length > 0 : Boolean(value));

/** The same for a command and for its event. */
function plain(value: unknown, isMap = false): unknown {
  if (Array.isArray(value)) return Array.from(value, (each) => plain(each)); // ours: that of a run has another prototype
  if (!isFields(value)) return value;
  if ('low' in value) return Number(value.low);
  if ('seconds' in value || 'nanos' in value)
    return Number(plain(value.seconds ?? 0)) * 1_000 + Math.round(Number(value.nanos ?? 0) / 1e6);
  if ('metadata' in value) return Buffer.from((value.data ?? []) as Uint8Array).toString();
  const wrapper = wrappers.find((name) => isSomething(value[name]));
  if (wrapper) return plain(value[wrapper], isMap);
  return sayings(value, isMap);
}

function sayings(fields: Fields, isMap = false): Fields {
  const entries = Object.entries(fields)
    .map(([name, value]): [string, unknown] => [(isMap ? undefined : nameInEvent[name]) ?? name, value])
    .filter(([name]) => isMap || said.has(name))
    .map(([name, value]): [string, unknown] => [name, plain(value, maps.has(name))]);
  return Object.fromEntries(entries.filter(([, value]) => isSomething(value)));
}

/** The server writes what a command leaves to it. A replay has a task queue of its own. */
function completed(kind: string, { ...command }: Fields, taskQueue: string): Fields {
  const retry = command.retryPolicy as { initialInterval: number } | undefined;
  if (retry) command.retryPolicy = { backoffCoefficient: 2, maximumInterval: 100 * retry.initialInterval, ...retry };
  const within = command.scheduleToCloseTimeout as number | undefined;
  if (within) command.startToCloseTimeout = Math.min(within, command.startToCloseTimeout as number);
  if (command.scheduleToStartTimeout === within) delete command.scheduleToStartTimeout;
  if (typeof command.taskQueue === 'string') command.taskQueue = command.taskQueue.replace(taskQueue, 'queue');
  if (kind === 'workflowExecutionContinuedAsNew')
    for (const carried of ['taskQueue', 'memo', 'searchAttributes']) delete command[carried];
  if (kind === 'startChildWorkflowExecutionInitiated') command.workflowIdReusePolicy ??= 1;
  return command.result === undefined ? command : { ...command, result: [command.result].flat() };
}

const commandOf = (kind: string, told: Fields, userMetadata: unknown, taskQueue: string): [string, Fields] => [
  kind,
  completed(kind, sayings({ ...told, ...(userMetadata as Fields) }), taskQueue),
];

function byKind(commands: [string, Fields][]): CommandsByEvent {
  const kinds: CommandsByEvent = {};
  for (const [kind, command] of commands) kinds[kind] = [...(kinds[kind] ?? []), command];
  return kinds;
}

/** What the run did by its history. */
export function recordedCommands(events: object[]): CommandsByEvent {
  const [first] = events as { workflowExecutionStartedEventAttributes?: { taskQueue: { name: string } } }[];
  const taskQueue = first?.workflowExecutionStartedEventAttributes?.taskQueue.name ?? '';
  const all = Object.values(eventOf).flatMap((kind) =>
    (events as Fields[]).flatMap((event) => {
      const attributes = event[`${kind}EventAttributes`] as (Fields & { outcome?: Fields }) | undefined;
      return attributes
        ? [commandOf(kind, { ...attributes, ...attributes.outcome }, event.userMetadata, taskQueue)]
        : [];
    }),
  );
  // The SDK notes its patches in an attribute of its own.
  return byKind(
    all.filter(([, { searchAttributes = {} }]) => !('TemporalChangeVersion' in (searchAttributes as Fields))),
  );
}

/** A command as the SDK has it. */
export interface Command extends Fields {
  userMetadata?: unknown;
}

/** What the run does by the commands of its activations. What is cancelled in the same one never reaches the server. */
export function sentCommands(activations: Command[][], taskQueue: string): CommandsByEvent {
  const all = activations.flatMap((commands) => {
    const seqs = (name: string) => commands.map((command) => (command[name] as { seq?: number } | undefined)?.seq);
    const cancelled = { startTimer: seqs('cancelTimer'), scheduleActivity: seqs('requestCancelActivity') };
    return commands.flatMap(({ userMetadata, ...command }) => {
      const [[name = '', told] = []] = Object.entries(command) as [string, Fields & { seq?: number }][];
      const kind = eventOf[name];
      const isGone = cancelled[name as keyof typeof cancelled]?.includes(told?.seq);
      if (!kind || !told || isGone || told.accepted) return [];
      return [commandOf(kind, told, userMetadata, taskQueue)];
    });
  });
  return byKind(all);
}

const endings = ['workflowExecutionContinuedAsNew', 'workflowExecutionCompleted', 'workflowExecutionFailed'];

/** Throws unless the run does to the letter what its history says. A history may lack the end that the run comes to in its last task. */
export function requireSame(commands: CommandsByEvent, recorded: CommandsByEvent): void {
  const compared = Object.entries(commands).filter(([kind]) => recorded[kind] || !endings.includes(kind));
  deepStrictEqual(Object.fromEntries(compared.sort()), Object.fromEntries(Object.entries(recorded).sort()));
}
