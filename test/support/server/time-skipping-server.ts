import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { inject } from 'vitest';
import { freePort } from '../../../dev/stack/temporal/free-port.js';
import { ServerFailed, startServerProcess } from '../../../dev/stack/temporal/server-process.js';

export interface TimeSkippingServer {
  env: TestWorkflowEnvironment;
  close(): Promise<void>;
}

const attempts = 3; // another process may take a free port before the server opens it

/**
 * Starts a server that skips time. The SDK kills a server that does not answer 5 s after its start, and a Java program
 * takes longer on a busy machine. So we start the server and wait until it listens; the SDK gets a stand-in to start,
 * and finds our server at its port.
 */
export async function startTimeSkippingServer(): Promise<TimeSkippingServer> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startOnce();
    } catch (error) {
      const mayBeThePort = error instanceof ServerFailed && error.code === 'ServerEnded';
      if (!mayBeThePort || attempt === attempts) throw error;
    }
  }
}

async function startOnce(): Promise<TimeSkippingServer> {
  const port = await freePort();
  const program = inject('timeSkippingServerPath');
  const server = await startServerProcess(program, [String(port)], { isUp: () => listens(port) });
  const path = fileURLToPath(new URL('stand-in.sh', import.meta.url));
  try {
    const executable = { type: 'existing-path' as const, path };
    const env = await TestWorkflowEnvironment.createTimeSkipping({ server: { executable, port } });
    return { env, close: () => env.teardown().finally(server.stop) };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true));
    socket.on('error', () => resolve(false)).on('connect', () => socket.destroy());
  });
