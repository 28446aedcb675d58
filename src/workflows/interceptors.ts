import {
  log,
  patched,
  type WorkflowInboundCallsInterceptor,
  type WorkflowInterceptorsFactory,
  type WorkflowInternalsInterceptor,
  workflowInfo,
} from '@temporalio/workflow';
import { askedAhead, InvalidInput } from '../domain/errors.js';
import { checkProgress, UndecodablePayload } from '../domain/input-fields.js';
import { leftByRunQuery } from './messages.js';
import { refuseBadInput } from './run-kit.js';

/** Loaded with the workflows, before any of them. */
export const interceptors: WorkflowInterceptorsFactory = () => ({
  internals: [refuseAhead()],
  inbound: [refuseUndecodable()],
});

/**
 * Refuses to run a workflow ahead of its task. A query that had to wait for a worker comes with all that has happened by then,
 * and the SDK (1.24.0) runs the code on it. The task that follows then brings an update or a signal too late: a replay hands it
 * over first, no longer matches what was done, and the run stands still. After a refusal the run is loaded anew for its task, and
 * the question is asked again (`repeatWhenLost`).
 *
 * Only a task moves the clock of a run; so new events at an old time are ahead. A run that has ended gets no task any more, and what
 * came to it last would be ahead for ever; so the question that only such runs are asked is answered.
 */
function refuseAhead(): WorkflowInternalsInterceptor {
  let before = { at: '', events: 0 };
  let isAhead = false;
  return {
    activate(input, next) {
      const { timestamp, historyLength, isReplaying, jobs } = input.activation;
      const questions = jobs?.flatMap(({ queryWorkflow }) => queryWorkflow?.queryType ?? []) ?? [];
      if (questions.length > 0) {
        if (isAhead && questions.some((question) => question !== leftByRunQuery.name)) throw new Error(askedAhead);
        return next(input);
      }
      const now = { at: `${timestamp?.seconds}.${timestamp?.nanos}`, events: historyLength ?? 0 };
      isAhead ||= now.at === before.at && now.events > before.events && !isReplaying;
      before = now;
      return next(input);
    },
  };
}

/**
 * Keeps what cannot be decoded away from every workflow and each of its handlers, those of tomorrow included. A start fails with
 * `InvalidInput`, an update and a query are refused with it, a signal is ignored; the run goes on.
 *
 * What is encrypted with a key that this worker lacks may be read by another worker. So a start waits for the key, and of a signal
 * history keeps that it was ignored.
 */
function refuseUndecodable(): WorkflowInboundCallsInterceptor {
  const arrived = new Map<string, number>();
  return {
    execute(input, next) {
      const [first, progress] = input.args;
      // To our parsers null is what it is to most languages: nothing given.
      return unlessThrown(
        () => checkStart(input.args),
        () => next({ ...input, args: [first, progress ?? undefined] }),
      );
    },
    handleSignal(input, next) {
      const { signalName, args } = input;
      const count = (arrived.get(signalName) ?? 0) + 1;
      arrived.set(signalName, count);
      const unread = findUnread(args);
      const pass = (): void => log.warn('a signal is ignored', { signalName, reason: unread && reasonOf(unread) });
      if (unread?.value.key === null) return Promise.resolve(pass());
      let isPassed = false;
      return unlessThrown(
        () => {
          isPassed = isIgnored(unread, `signal ${signalName} ${count} was ignored`);
        },
        () => (isPassed ? Promise.resolve(pass()) : next(input)),
      );
    },
    validateUpdate(input, next) {
      checkReadable(input.args);
      next(input);
    },
    handleUpdate(input, next) {
      return unlessThrown(
        // Without a key it was accepted by a worker that has the key.
        () => checkReadable(input.args, 'waits for a key'),
        () => next(input),
      );
    },
    handleQuery(input, next) {
      return unlessThrown(
        () => checkReadable(input.args),
        () => next(input),
      );
    },
  };
}

/** In one step, so that nothing is put off by a turn of the event loop. */
function unlessThrown<T>(check: () => void, go: () => Promise<T>): Promise<T> {
  try {
    check();
  } catch (error) {
    return Promise.reject(error);
  }
  return go();
}

interface Unread {
  value: UndecodablePayload;
  /** What callers call the argument. */
  name: string;
}

function findUnread(args: readonly unknown[]): Unread | undefined {
  const index = args.findIndex((arg) => arg instanceof UndecodablePayload);
  const value = args[index];
  return value instanceof UndecodablePayload ? { value, name: index === 0 ? 'input' : 'progress' } : undefined;
}

const reasonOf = ({ name, value }: Unread): string => `${name}: cannot be decoded: ${value.reason}`;

/** Not a failure of the run: its task is tried again, until a worker holds the key. */
const waitForKey = (unread: Unread): Error => new Error(`${reasonOf(unread)}; a worker with the key goes on`);

function checkReadable(args: readonly unknown[], missingKey?: 'waits for a key'): void {
  const unread = findUnread(args);
  if (!unread) return;
  if (missingKey && unread.value.key === 'missing') throw waitForKey(unread);
  refuseBadInput(() => {
    throw new InvalidInput(reasonOf(unread));
  });
}

function checkStart(args: readonly unknown[]): void {
  checkReadable(args, 'waits for a key');
  const isContinued = workflowInfo().continuedFromExecutionRunId !== undefined;
  refuseBadInput(() => checkProgress(args[1], isContinued));
}

/**
 * Was this signal ignored for want of a key, or is it now? A later worker may hold the key, and must not act on what its history
 * passed over; and one that lost a key must not pass over what its history acted on.
 */
function isIgnored(unread: Unread | undefined, mark: string): boolean {
  if (!workflowInfo().unsafe.isReplaying) return unread !== undefined && patched(mark);
  if (patched(mark)) return true;
  if (unread) throw waitForKey(unread);
  return false;
}
