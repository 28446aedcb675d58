import type { Command } from 'commander';
import { parseEndInput, parseMoveInput, parseRotateInput } from '../../domain/subscription/input.js';
import type { SubscriptionStatus } from '../../domain/subscription/status.js';
import { type SubscriptionKey, subscriptionId } from '../../domain/workflow-ids.js';
import { endSubscriptionUpdate, moveSubscriptionUpdate, rotateSubscriptionUpdate } from '../../workflows/messages.js';
import {
  checked,
  type SubscriptionArguments,
  toDurationMs,
  toSubscriptionKey,
  withSubscriptionArguments,
} from '../arguments.js';
import {
  type AddCommand,
  addCommand,
  type CommandContext,
  type CommonOptions,
  inSession,
  type Session,
} from '../command.js';
import { CliFailure, exitCodes } from '../failure.js';
import { answerWithinMs, sendUpdate } from '../sent-update.js';
import { getSubscription, readSubscriptionStatus } from './run.js';
import { subscriptionEndText, subscriptionText } from './view.js';

type GraceOptions = CommonOptions & { grace?: number };

const graceOption = (command: Command): Command =>
  command.option(
    '--grace <duration>',
    'how long the ingress accepts the old address: 90s, 30m, 24h, or 0 (default: a day)',
    checked(toDurationMs, '--grace'),
  );

const graceOf = ({ grace }: GraceOptions) => (grace === undefined ? {} : { graceMs: grace });

/** `subscription rotate <account> <eventType>` */
export const addRotate: AddCommand = (subscription, run) => {
  const does = 'give a subscription a new path and secret';
  graceOption(
    withSubscriptionArguments(
      addCommand(subscription, 'rotate', { does, examples: ['business status_changed --grace 30m'] }),
    ),
  ).action(
    run(
      inSession(
        (given: SubscriptionArguments, options: GraceOptions) => ({
          key: toSubscriptionKey(given),
          input: parseRotateInput(graceOf(options)),
        }),
        async (context, session, { key, input }) =>
          tellStatus(
            context,
            key,
            await change(session, key, (handle) => handle.executeUpdate(rotateSubscriptionUpdate, { args: [input] })),
          ),
      ),
    ),
  );
};

/** `subscription move <account> <eventType>` */
export const addMove: AddCommand = (subscription, run) => {
  const does = 'have a subscription deliver to another public URL';
  const examples = ['business status_changed --public-url https://rides.example'];
  graceOption(withSubscriptionArguments(addCommand(subscription, 'move', { does, examples })))
    .requiredOption('--public-url <url>', 'public https base of the ingress')
    .action(
      run(
        inSession(
          (given: SubscriptionArguments, options: GraceOptions & { publicUrl: string }) => ({
            key: toSubscriptionKey(given),
            input: parseMoveInput({ publicUrl: options.publicUrl, ...graceOf(options) }),
          }),
          async (context, session, { key, input }) =>
            tellStatus(
              context,
              key,
              await change(session, key, (handle) => handle.executeUpdate(moveSubscriptionUpdate, { args: [input] })),
            ),
        ),
      ),
    );
};

/** `subscription end <account> <eventType>` */
export const addEnd: AddCommand = (subscription, run) => {
  const does = 'end a subscription: the ingress refuses its deliveries';
  const examples = ['business status_changed --reason "moved away"'];
  withSubscriptionArguments(addCommand(subscription, 'end', { does, examples }))
    .option('--reason <text>', 'why, 1 to 200 characters', 'ended by hand')
    .action(
      run(
        inSession(
          (given: SubscriptionArguments, { reason }: CommonOptions & { reason: string }) => ({
            key: toSubscriptionKey(given),
            input: parseEndInput({ reason }),
          }),
          async (context, session, { key, input }) => {
            const end = await change(session, key, (handle) =>
              handle.executeUpdate(endSubscriptionUpdate, { args: [input] }),
            );
            context.tell({ workflowId: subscriptionId(key), end }, subscriptionEndText(end, context.paint));
            return exitCodes.done;
          },
        ),
      ),
    );
};

function tellStatus(context: CommandContext, key: SubscriptionKey, status: SubscriptionStatus): number {
  context.tell({ workflowId: subscriptionId(key), subscription: status }, subscriptionText(status, context.paint));
  return exitCodes.done;
}

const handleOf = ({ client }: Session, key: SubscriptionKey) => client.workflow.getHandle(subscriptionId(key));

/** Sends an update to the running subscription. Throws `CliFailure` NotSubscribed, NoWorker, NoAnswer. */
async function change<Answer>(
  session: Session,
  key: SubscriptionKey,
  send: (handle: ReturnType<typeof handleOf>) => Promise<Answer>,
): Promise<Answer> {
  await getSubscription(session, key);
  return await sendUpdate(
    session,
    () => send(handleOf(session, key)),
    () => noAnswer(session, key),
  );
}

async function noAnswer(session: Session, key: SubscriptionKey): Promise<CliFailure> {
  const attention = (await readSubscriptionStatus(session, key))?.attention;
  const why = attention ? `${attention.code}: ${attention.message}` : 'the service may be slow';
  const message = `no answer within ${answerWithinMs / 1_000} s, but the subscription has been asked and goes on trying: ${why}`;
  return new CliFailure('NoAnswer', message);
}
