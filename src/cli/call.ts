import { randomUUID } from 'node:crypto';
import type { CallResult } from '../client/index.js';
import { parseCallBody } from '../contracts/call-bodies.js';
import { type BusinessCallInput, type BusinessOperation, parseBusinessCallInput, toCallerKey } from '../domain/call.js';
import type { AccountName, OrderId } from '../domain/keys.js';
import { businessCallId } from '../domain/workflow-ids.js';
import { checked, orderOption, readJsonInput } from './arguments.js';
import { type AddCommand, addCommand, type CommandContext, reading, type Session } from './command.js';
import { exitCodes } from './failure.js';
import { missingWorkers } from './processes.js';
import { plain } from './text.js';

interface CallGiven {
  account: AccountName;
  operation: BusinessOperation;
  input?: string;
  order?: OrderId;
  referenceField?: string;
  key?: string;
}

const help = `
The same key never makes a second effect: the second call with it shows the
outcome of the first, for as long as Temporal keeps it.`;

/** `call <account> <operation>`: one business operation, durably. */
export const addCall: AddCommand = (program, run) => {
  const does = 'carry out one business operation, durably';
  const examples = [
    'business products --input place.json',
    'business createOrder --input order.json --key trip-9',
    'business cancelOrder --order 7b21',
  ];
  addCommand(program, 'call <account> <operation>', { does, examples, more: help })
    .option('--input <file>', 'JSON body to send; - for standard input')
    .option(...orderOption('the order that it is about'))
    .option('--reference-field <id>', 'the reference field that addReferenceCode adds to')
    .option('--key <text>', 'your identity of this call; a random one by default', checked(toCallerKey, '--key'))
    .action(run(reading(toInput, call)));
};

function toInput({ account, operation, key, order, referenceField, input: file }: CallGiven): BusinessCallInput {
  const input = parseBusinessCallInput({
    account,
    operation,
    key: key ?? randomUUID(),
    orderId: order,
    referenceFieldId: referenceField,
    body: file === undefined ? undefined : readJsonInput(file),
  });
  parseCallBody(input.operation, input.body);
  return input;
}

async function call(session: Session, input: BusinessCallInput): Promise<number> {
  // Only for the wording: the call itself begins, or joins the one of this key.
  const before = await session.find(businessCallId(input));
  const start = !before ? 'started' : before.isOpen ? 'alreadyRunning' : 'alreadyEnded';
  const answered = session.rides.call(input); // no deadline here: the call ends by its own limits
  answered.catch(() => undefined); // it is awaited below
  session.note(startText(session, input, start));
  if (start !== 'alreadyEnded') session.warn(await missingWorkers(session, input.account));
  const result = await answered;
  session.tell(
    { workflowId: businessCallId(input), key: input.key, state: start, result },
    resultText(session, result),
  );
  return exitCodes.done;
}

/** Whether the key was used before. */
type CallStart = 'started' | 'alreadyRunning' | 'alreadyEnded';

function startText({ paint }: CommandContext, input: BusinessCallInput, start: CallStart): string {
  const head = {
    started: `Calling ${input.operation} of account ${input.account}`,
    alreadyRunning: 'A call with this key is running; waiting for its outcome',
    alreadyEnded: 'This key was used before; nothing was sent now. The outcome of that call:',
  }[start];
  return [paint('strong', head), `  key       ${input.key}`, `  id        ${businessCallId(input)}`].join('\n');
}

function resultText({ paint }: CommandContext, { operation, status, body, orderId }: CallResult): string {
  const order = orderId === undefined ? '' : `, order ${plain(orderId)}`;
  const lines = body === null ? [] : JSON.stringify(body, null, 2).split('\n').map(plain);
  return [paint('strong', `${operation}: done (HTTP ${status})${order}`), ...lines].join('\n');
}
