import { randomUUID } from 'node:crypto';
import type { CallResult } from '../client/index.js';
import { parseCallBody } from '../contracts/call-bodies.js';
import { type BusinessCallInput, type BusinessOperation, parseBusinessCallInput, toCallerKey } from '../domain/call.js';
import type { AccountName, OrderId } from '../domain/keys.js';
import { businessCallId } from '../domain/workflow-ids.js';
import { inputOption, option, orderOption } from './arguments.js';
import { type CommandSpec, reading, type Session } from './command.js';
import { exitCodes } from './failure.js';
import { startingRun } from './known-account.js';
import { missingWorkers } from './runs.js';
import { paint, plain, toLines } from './text.js';

interface CallGiven {
  account: AccountName;
  operation: BusinessOperation;
  input?: unknown;
  order?: OrderId;
  referenceField?: string;
  key?: string;
}

const help = `
The same key never makes a second effect: the second call with it shows the
outcome of the first, for as long as Temporal keeps it.`;

/** `call <account> <operation>`: one business operation, durably. */
export const callCommand: CommandSpec = startingRun({
  form: 'call <account> <operation>',
  does: 'carry out one business operation, durably',
  examples: [
    'business products --input place.json',
    'business priceEstimate --input trip.json',
    'business orderReport --input period.json',
    'business createOrder --input order.json --key trip-9',
    'business cancelOrder --order 7b21',
  ],
  more: help,
  options: [
    inputOption('JSON body to send; for orderReport since, to, limit, offset'),
    orderOption('the order that it is about'),
    option('--reference-field <id>', 'the reference field that addReferenceCode adds to'),
    option('--key <text>', 'your identity of this call; a random one by default', toCallerKey),
  ],
  act: reading(toInput, call),
});

function toInput({ account, operation, key, order, referenceField, input: body }: CallGiven): BusinessCallInput {
  const input = parseBusinessCallInput({
    ...{ account, operation, body },
    key: key ?? randomUUID(),
    orderId: order,
    referenceFieldId: referenceField,
  });
  parseCallBody(input.operation, input.body);
  return input;
}

/** Whether the key was used before. */
const startTexts = {
  started: ({ operation, account }: BusinessCallInput) => `Calling ${operation} of account ${account}`,
  alreadyRunning: () => 'A call with this key is running; waiting for its outcome',
  alreadyEnded: () => 'This key was used before; nothing was sent now. The outcome of that call:',
};

async function call(session: Session, input: BusinessCallInput): Promise<number> {
  const { account, key } = input;
  const workflowId = businessCallId(input);
  // Only for the wording: the call itself begins, or joins the one of this key.
  const before = await session.find(workflowId);
  const state = !before ? 'started' : before.isOpen ? 'alreadyRunning' : 'alreadyEnded';
  const answered = session.rides.call(input); // no deadline here: the call ends by its own limits
  answered.catch(() => undefined); // it is awaited below
  const head = paint('strong', startTexts[state](input));
  session.note([head, `  key       ${key}`, `  id        ${workflowId}`].join('\n'));
  if (state !== 'alreadyEnded') session.warn(await missingWorkers(session, account));
  const result = await answered;
  session.tell({ workflowId, key, state, result }, resultText(result));
  return exitCodes.done;
}

function resultText({ operation, status, body, orderId }: CallResult): string {
  const order = orderId === undefined ? '' : `, order ${plain(orderId)}`;
  const isPartial = (body as { has_errors?: unknown } | null)?.has_errors === true;
  const done = isPartial ? 'done in part, see errors' : 'done';
  const lines = body === null ? [] : [toLines(JSON.stringify(body, null, 2))];
  return [paint('strong', `${operation}: ${done} (HTTP ${status})${order}`), ...lines].join('\n');
}
