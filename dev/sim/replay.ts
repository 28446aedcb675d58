// Replays recorded histories of a real server in the simulated SDK.
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { sentCommands } from '../replay/commands.js';
import { requireToTheLetter } from '../replay/replayer.js';
import type { Command } from './sdk/activation.js';
import { Core, pastTask } from './sdk/core.js';
import { attributesOf, type Event, tasksOf } from './sdk/history.js';
import type { Code } from './sdk/run.js';

/** Throws unless the run gives exactly the commands in its history. */
export async function replay(name: string, json: string, code: Code): Promise<void> {
  const events: readonly Event[] = historyFromJSON(JSON.parse(json)).events ?? [];
  const [started] = events;
  if (!started) throw new TypeError('an empty history');
  const core = new Core(started, code);
  const activations: Command[][] = [];
  for (const past of tasksOf(events).past) {
    activations.push(...(await core.take(pastTask(past))).activations);
    core.note(past.done);
  }
  const queue = attributesOf(started, 'workflowExecutionStarted')?.taskQueue?.name ?? '';
  requireToTheLetter(name, sentCommands(activations, queue), [...events]);
}
