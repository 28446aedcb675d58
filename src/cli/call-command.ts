import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { parseCallBody } from '../contracts/call-bodies.js';
import { type BusinessCallInput, type BusinessCallResult, businessOperations } from '../domain/business-call.js';
import { parseBusinessCallInput, toBusinessOperation, toCallerKey } from '../domain/business-call-input.js';
import { type OrderId, toAccountName, toOrderId } from '../domain/keys.js';
import { businessCallId } from '../domain/workflow-ids.js';
import { awaitCall, type CallStart, startCall } from './call-run.js';
import { exitCodes } from './cli-failure.js';
import {
  type CommandContext,
  type CommonOptions,
  type RunCommand,
  type Session,
  withSession,
} from './command-context.js';
import { readJsonInput } from './json-input.js';
import { checked } from './order-command.js';
import { plain } from './plain-text.js';
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
