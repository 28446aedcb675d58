import { expect, it } from 'vitest';
import { filesBelow } from './project-files.js';

/** What reaches below the public parts of the SDK, of Node or of a library, or what a workflow must not use. */
const privateParts: Record<string, RegExp> = {
  'a deep import of the SDK': /['"]@temporalio\/[a-z-]+\/(?:lib|src)\b/,
  'the native bridge of the SDK': /@temporalio\/core-bridge|\bnativeWorker\b/,
  'a hidden option': /\bisolateExecutionTimeout\b/,
  'the promise hook of the SDK': /\bsetPromiseHook\b/,
  'a patched thread': /createRequire[^;]*worker_threads|\bthreads\.Worker =/,
  'a patched prototype': /\.prototype\.\w+ =|\bsocket\.(?:read|write) =/,
  'names of partitions': /\blistTaskQueuePartitions\b/,
  'a local activity': /\bproxyLocalActivities\b/,
  'a patch of workflow code': /\b(?:patched|deprecatePatch)\b\(/,
};

const findIn = (text: string): string[] => Object.keys(privateParts).filter((part) => privateParts[part]?.test(text));

it('the source uses public parts only', () => {
  expect(filesBelow('src').flatMap(({ path, text }) => findIn(text).map((part) => `${path}: ${part}`))).toEqual([]);
});

it.each([
  ["import { x } from '@temporalio/common/lib/time.js'", 'a deep import of the SDK'],
  ['const { nativeWorker } = worker as object', 'the native bridge of the SDK'],
  ['const more: object = { isolateExecutionTimeout: 60_000 }', 'a hidden option'],
  ['globalHandlers.setPromiseHook = () => {}', 'the promise hook of the SDK'],
  ["const threads = createRequire(import.meta.url)('node:worker_threads')", 'a patched thread'],
  ['Socket.prototype.read = skip', 'a patched prototype'],
  ['socket.write = skip', 'a patched prototype'],
  ['service.listTaskQueuePartitions(request)', 'names of partitions'],
  ['const { read } = proxyLocalActivities({})', 'a local activity'],
  ["if (patched('change'))", 'a patch of workflow code'],
])('the check finds in %j: %s', (text, part) => expect(findIn(text)).toEqual([part]));
