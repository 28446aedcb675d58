import { randomUUID } from 'node:crypto';
import { WorkflowExecutionAlreadyStartedError, WorkflowFailedError, WorkflowNotFoundError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { Command } from 'commander';
import { parseCallBody } from '../contracts/call-bodies.js';
import {
  type BusinessCallInput,
  type BusinessCallResult,
  businessOperations,
  parseBusinessCallInput,
  toBusinessOperation,
  toCallerKey,
} from '../domain/call.js';
import { type OrderId, toAccountName, toOrderId } from '../domain/keys.js';
import { businessCallId } from '../domain/workflow-ids.js';
import { businessCallStart } from '../temporal/starts.js';
import type { businessCall } from '../workflows/business-call.js';
import { checked, readJsonInput } from './arguments.js';
import {
  type CommandContext,
  type CommonOptions,
  callTimeoutMs,
  type RunCommand,
  type Session,
  withSession,
} from './command.js';
import { exitCodes, RunFailed, toRunFailure } from './failure.js';
import { plain } from './text.js';
import { missingWorkers } from './workers-alive.js';

interface CallOptions extends CommonOptions {
  input?: string;
  order?: OrderId;
  referenceField?: string;
  key?: string;
}

type CallArguments = [account: string, operation: string];

const help = `
Operations: ${businessOperations.slice(0, 4).join(', ')},
  ${businessOperations.slice(4).join(', ')}.
The same key never makes a second effect: the second time the outcome of the first is shown.

Examples:
  faretrail call business products --input place.json
  faretrail call business createOrder --input order.json --key trip-9
  faretrail call business cancelOrder --order 7b21`;

/** `call <account> <operation>`: one business operation, durably. */
export function addCallCommand(program: Command, run: RunCommand): void {
  program
    .command('call')
    .argument('<account>', 'name of a business account', checked(toAccountName))
    .argument('<operation>', 'name of the operation', checked(toBusinessOperation))
    .description('ask for one business operation, durably')
    .option('--input <file>', 'file with the JSON body to send; - for standard input')
    .option(
      '--order <id>',
      'the order it is about',
      checked((text) => toOrderId(text, '--order')),
    )
    .option('--reference-field <id>', 'the reference field that codes are added to')
    .option(
      '--key <text>',
      'your identity of this call; a random one unless given',
      checked((text) => toCallerKey(text, '--key')),
    )
    .addHelpText('after', help)
    .action(
      run<CallArguments, CallOptions>(async (context, [account, operation], options) => {
        const input = toInput(account, operation, options); // before any connection
        return await withSession(context, (session) => call(context, session, input));
      }),
    );
}

function toInput(account: string, operation: string, options: CallOptions): BusinessCallInput {
  const input = parseBusinessCallInput({
    account,
    operation,
    key: options.key ?? randomUUID(),
    orderId: options.order,
    referenceFieldId: options.referenceField,
    body: options.input === undefined ? undefined : readJsonInput(options.input),
  });
  parseCallBody(input.operation, input.body);
  return input;
}

async function call(context: CommandContext, session: Session, input: BusinessCallInput): Promise<number> {
  const start = await startCall(session, input);
  context.note(startText(context, input, start));
  if (start !== 'alreadyEnded') {
    for (const warning of await missingWorkers(session, input.account)) {
      context.note(`${context.paint('bad', 'warning:')} ${warning}`);
    }
  }
  const result = await awaitCall(session, input);
  context.tell(
    { workflowId: businessCallId(input), key: input.key, state: start, result },
    resultText(context, result),
  );
  return exitCodes.done;
}

function startText({ paint }: CommandContext, input: BusinessCallInput, start: CallStart): string {
  const head = {
    started: `Asking for ${input.operation} of account ${input.account}`,
    alreadyRunning: `The call with this key is under way already; waiting for its outcome`,
    alreadyEnded: `This key was used before: nothing was sent now; this is what became of that call`,
  }[start];
  return [paint('strong', head), `  key       ${input.key}`, `  workflow  ${businessCallId(input)}`].join('\n');
}

function resultText({ paint }: CommandContext, { operation, status, body, orderId }: BusinessCallResult): string {
  const order = orderId === undefined ? '' : `, order ${plain(orderId)}`;
  const lines = body === null ? [] : JSON.stringify(body, null, 2).split('\n').map(plain);
  return [paint('strong', `${operation}: done (HTTP ${status})${order}`), ...lines].join('\n');
}

/** What the call of this key was when it was asked for. */
type CallStart = 'started' | 'alreadyRunning' | 'alreadyEnded';

/** Asks for a call; a key that was used before starts nothing. */
async function startCall(session: Session, input: BusinessCallInput): Promise<CallStart> {
  const { client, config, within } = session;
  const isThere = await hasRun(session, input); // only for the wording: the start itself is idempotent
  try {
    await within(callTimeoutMs, () =>
      client.workflow.start<typeof businessCall>('businessCall', businessCallStart(input, config.taskQueue)),
    );
    return isThere ? 'alreadyRunning' : 'started';
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return 'alreadyEnded';
    throw error;
  }
}

async function hasRun({ client, within }: Session, input: BusinessCallInput): Promise<boolean> {
  try {
    await within(callTimeoutMs, () => client.workflow.getHandle(businessCallId(input)).describe());
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

/** Waits for the end of the call: its own limits end it. Throws `RunFailed` with the words of the service beside ours. */
async function awaitCall({ client }: Session, input: BusinessCallInput): Promise<BusinessCallResult> {
  try {
    return await client.workflow.getHandle<typeof businessCall>(businessCallId(input)).result();
  } catch (error) {
    if (!(error instanceof WorkflowFailedError)) throw error;
    const { code, message } = toRunFailure(error.cause);
    throw new RunFailed({
      code,
      message: [message, wordsOfService(error.cause)].filter((part) => part !== '').join(' '),
    });
  }
}

/** What the service said beside the failure; empty where it said nothing. */
export function wordsOfService(cause: unknown): string {
  const [said] = (cause instanceof ApplicationFailure && cause.details) || [];
  const message = typeof said === 'object' && said !== null && 'message' in said ? said.message : undefined;
  return typeof message === 'string' ? `The service says: "${message}"` : '';
}
