import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { stat, unlink } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { JournalError } from './entries.js';

/** The longest path of a socket: 104 bytes on macOS, 108 on Linux, with the final zero. */
const longestPath = 100;
/** Longer than another process needs to replace a dead socket that it found. */
const settleMs = 50;

/**
 * Takes a folder for this process alone, and gives the function that releases it. The lock is a listening socket. The system
 * closes it with its process, also on kill -9, and it works between containers that share the folder, unlike a pid. Throws
 * `JournalInUse`.
 */
export async function lockJournal(folder: string): Promise<() => Promise<void>> {
  const path = socketPath(folder);
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const server = await listen(path);
    if (server) {
      if (attempt > 0) await refuseUnlessSettled(path);
      return () => close(server);
    }
    if (await isAnswered(path)) break;
    await unlink(path).catch(() => undefined); // a killed process left it
  }
  throw new JournalError('JournalInUse', 'FARETRAIL_JOURNAL_DIR: another process has this journal; give each its own');
}

function socketPath(folder: string): string {
  const absolute = join(resolve(folder), 'lock');
  const [shortest = absolute] = [absolute, relative('', absolute)].sort((a, b) => a.length - b.length);
  if (Buffer.byteLength(shortest) <= longestPath) return shortest;
  return join(tmpdir(), `faretrail-${createHash('sha256').update(absolute).digest('hex').slice(0, 16)}.lock`);
}

/** Undefined if the socket exists already, alive or not. */
async function listen(path: string): Promise<Server | undefined> {
  const server = createServer((socket) => socket.destroy());
  server.unref();
  try {
    const listening = once(server, 'listening');
    server.listen(path);
    await listening;
    return server;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return undefined;
    throw error;
  }
}

/** Also when it cannot be asked, for want of a right or since too many ask: only a refusal shows that its process is dead. */
async function isAnswered(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code !== 'ECONNREFUSED' && code !== 'ENOENT';
  } finally {
    socket.destroy();
  }
}

/** Two processes may both find the dead socket. The one whose new socket the other removed gives way. */
async function refuseUnlessSettled(path: string): Promise<void> {
  const inode = async () => (await stat(path).catch(() => undefined))?.ino;
  const mine = await inode();
  await sleep(settleMs);
  if (mine === undefined || mine !== (await inode()))
    throw new JournalError('JournalInUse', 'FARETRAIL_JOURNAL_DIR: another process took this journal just now');
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  await closed;
}
