import { once } from 'node:events';
import { createServer } from 'node:net';
import { freePort } from '../temporal/free-port.js';

/** The usual port, or any free port if the usual one is taken. */
export async function usualOrFreePort(usual: number): Promise<number> {
  return (await isFree(usual)) ? usual : await freePort();
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}
