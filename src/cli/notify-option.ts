import type { Command } from 'commander';
import { InvalidInput } from '../domain/errors.js';
import { type Notify, toReceiver } from '../domain/notify.js';
import { checked } from './order-command.js';

/** Adds `--notify`, which may be given several times. */
export const withNotifyOption = (command: Command): Command =>
  command.option(
    '--notify <who>',
    'who is told of each change: a URL, or workflowId:signal; may be repeated',
    (text: string, before?: Notify[]) => [...(before ?? []), checked(readReceiver)(text)],
  );

/** A workflow id may hold colons; the name of a signal is taken to hold none. */
function readReceiver(text: string): Notify {
  const isUrl = /^[a-z]+:\/\//i.test(text);
  const [, workflowId, signal] = /^(.+):([^:]+)$/.exec(text) ?? [];
  if (!isUrl && !signal) throw new InvalidInput('--notify: must be a URL, or workflowId:signal');
  return toReceiver(isUrl ? { url: text } : { workflowId, signal }, '--notify');
}
