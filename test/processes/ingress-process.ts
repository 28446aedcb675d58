import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { nodeArgs } from '../../local/stack/node-args.js';
import { encodedKey } from '../settings/env.js';

/** An ingress in a process of its own, as it is deployed. */
export interface IngressProcess {
  url: string;
  /** All that it has written so far. */
  output(): string;
  /** Resolves to the exit code. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

export const webhookKeys = `w1:${encodedKey(9)}`;

/** Settings of one business account; nothing listens at `TEMPORAL_ADDRESS`. */
export const ingressEnv: Readonly<Record<string, string>> = {
  FARETRAIL_BUSINESS_BASE_URL: 'https://business.example',
  FARETRAIL_BUSINESS_CLIENT_ID: 'business-id',
  FARETRAIL_BUSINESS_ID: '7b0c1d7e-5a53-4d7e-9d0c-1f2a3b4c5d6e',
  FARETRAIL_WEBHOOK_KEYS: webhookKeys,
  FARETRAIL_INGRESS_PORT: '0',
  FARETRAIL_LOG_LEVEL: 'trace',
  TEMPORAL_ADDRESS: '127.0.0.1:1',
};

function launch(env: Readonly<Record<string, string>>): { child: ChildProcess; output(): string } {
  const child = spawn(process.execPath, nodeArgs('ingress'), {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, TZ: 'UTC', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return { child, output: () => output };
}

/** Resolves when it listens. Rejects with its output when it ends before. */
export async function startIngressProcess(env: Readonly<Record<string, string>>): Promise<IngressProcess> {
  const { child, output } = launch(env);
  await new Promise<void>((resolve, reject) => {
    child.once('exit', () => reject(new Error(`the ingress ended before it was ready:\n${output()}`)));
    child.stdout?.on('data', () => {
      if (output().includes('"msg":"ingress started"')) resolve();
    });
  });
  const [, port] = /"port":(\d+)/.exec(output()) ?? [];
  return {
    url: `http://127.0.0.1:${port}`,
    output,
    async end(signal) {
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
      const closed = once(child, 'close'); // also all of its output was read
      child.kill(signal);
      await closed;
      return child.exitCode;
    },
  };
}

/** For one that is to end by itself. */
export async function runIngressProcess(env: Readonly<Record<string, string>>) {
  const { child, output } = launch(env);
  await once(child, 'close');
  return { code: child.exitCode, output: output() };
}
