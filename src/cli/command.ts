import type { Client, Connection } from '@temporalio/client';
import type { CliConfig, Config } from '../config.js';
import type { Env } from '../settings/env-reader.js';
import { connectClient } from '../temporal/connection.js';
import { type Paint, paintFor, toJsonLine } from './text.js';

/** What a stream of the process is to us. */
interface TextSink {
  write(text: string): unknown;
  isTTY?: boolean;
}

/** What the process gives to the commands. The settings are read when a command asks for them. */
export interface CliProcess {
  env: Env;
  stdout: TextSink;
  stderr: TextSink;
  /** Throws `ConfigError`. */
  loadSettings(): CliConfig;
  /** The same with the client secrets. Throws `ConfigError`. */
  loadSettingsWithSecrets(): Config;
  /** How long to wait for Temporal to take the connection. Default 5 s: a person waits. */
  connectWithinMs?: number;
  /** Calls `act` at Ctrl-C or SIGTERM in place of ending the process. Returns what undoes it. */
  onInterrupt(act: () => void): () => void;
}

/** What a command works with. */
export interface CommandContext extends CliProcess {
  paint: Paint;
  isJson: boolean;
  /** The result: `json` as one line, or the text. */
  tell(json: unknown, text: string): void;
  /** Something to know beside the result: to stderr, and only for people. */
  note(text: string): void;
}

/** Options that every command takes. */
export interface CommonOptions {
  json?: boolean;
}

export function createContext(process: CliProcess, { json = false }: CommonOptions): CommandContext {
  const { stdout, stderr, env } = process;
  return {
    ...process,
    isJson: json,
    paint: paintFor(stdout.isTTY === true, env.NO_COLOR),
    tell: (value, text) => void stdout.write(`${json ? toJsonLine(value) : text}\n`),
    note(text) {
      if (!json) stderr.write(`${text}\n`);
    },
  };
}

/** What a command does. Its answer is the exit code. */
export type Act<Arguments extends unknown[], Options> = (
  context: CommandContext,
  given: Arguments,
  options: Options,
) => Promise<number>;

/** Makes a command out of what it does: gives it a context, and turns its answer into the exit code. */
export type RunCommand = <Arguments extends unknown[], Options extends CommonOptions = CommonOptions>(
  act: Act<Arguments, Options>,
) => (...given: unknown[]) => Promise<void>;

/** A connection to Temporal for one command. */
export interface Session {
  client: Client;
  connection: Connection;
  namespace: string;
  address: string;
  config: CliConfig;
  /** Fails calls to Temporal that take longer; none has a deadline of its own. */
  within<T>(ms: number, act: () => Promise<T>): Promise<T>;
}

const defaultConnectWithinMs = 5_000;

/** For calls that need no worker. */
export const callTimeoutMs = 10_000;

/** Reads the settings, connects, and closes the connection whatever happens. */
export async function withSession<T>(context: CommandContext, act: (session: Session) => Promise<T>): Promise<T> {
  const config = context.loadSettings();
  const { client, connection, namespace, address } = await connectClient(context.env, {
    withinMs: context.connectWithinMs ?? defaultConnectWithinMs,
  });
  const within: Session['within'] = (ms, call) => connection.withDeadline(Date.now() + ms, call);
  try {
    return await act({ client, connection, namespace, address, config, within });
  } finally {
    await connection.close();
  }
}

/** The command as the reader of a hint can type it. */
export const commandLine = (env: Env, ...words: string[]): string => [programName(env), ...words.map(quoted)].join(' ');

/** A checkout has no `faretrail` on its path; who came through its script can do so again. */
export const programName = (env: Env): string =>
  env.npm_lifecycle_event === 'starter' ? 'npm run starter --' : 'faretrail';

/** Help and messages name commands at the start of an indented line or after a colon; here as `commandLine` has them. */
export const withProgramName = (text: string, env: Env): string =>
  text.replaceAll(/(?<=^ {2}|: )faretrail (?=[a-z])/gm, `${programName(env)} `);

/** A word as a shell takes it: an order id may hold blanks. */
export const quoted = (word: string): string =>
  /^[\w.:@%+=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
