import type { Command } from 'commander';
import { parseEndInput, parseMoveInput, parseRotateInput } from '../../domain/subscription/input.js';
import { type SubscriptionKey, subscriptionId } from '../../domain/workflow-ids.js';
import { endSubscriptionUpdate, moveSubscriptionUpdate, rotateSubscriptionUpdate } from '../../workflows/messages.js';
import { checked, type SubscriptionArguments, toDurationMs, withSubscriptionArguments } from '../arguments.js';
import { type CommonOptions, type RunCommand, type Session, withSession } from '../command.js';
import { CliFailure, exitCodes } from '../failure.js';
import { answerWithinMs, sendUpdate } from '../sent-update.js';
import { getSubscription, readSubscriptionStatus } from './run.js';
import { subscriptionEndText, subscriptionText } from './view.js';

type GraceOptions = CommonOptions & { grace?: number };

const graceOption = (command: Command): Command =>
  command.option(
    '--grace <duration>',
    'how long the old address is accepted, such as 90s, 30m, 24h, or 0 (default: a day)',
    checked((text) => toDurationMs(text, '--grace')),
  );

const graceOf = ({ grace }: GraceOptions) => (grace === undefined ? {} : { graceMs: grace });

/** `rotate`, `move` and `unsubscribe`: what changes a subscription. */
export function addSubscriptionChanges(program: Command, run: RunCommand): void {
  addRotate(program, run);
  addMove(program, run);
  addUnsubscribe(program, run);
}

function addRotate(program: Command, run: RunCommand): void {
  graceOption(withSubscriptionArguments(program.command('rotate')))
    .description('give a subscription a new path and secret')
    .addHelpText('after', '\nExample:\n  faretrail rotate business status_changed --grace 30m')
    .action(
      run<SubscriptionArguments, GraceOptions>(async (context, [account, eventType], options) => {
        const key = { account, eventType };
        const input = parseRotateInput(graceOf(options)); // before any connection
        return await withSession(context, async (session) => {
          const status = await change(session, key, () =>
            handleOf(session, key).executeUpdate(rotateSubscriptionUpdate, { args: [input] }),
          );
          context.tell(
            { workflowId: subscriptionId(key), subscription: status },
            subscriptionText(status, context.paint),
          );
          return exitCodes.done;
        });
      }),
    );
}

function addMove(program: Command, run: RunCommand): void {
  graceOption(withSubscriptionArguments(program.command('move')))
    .description('have a subscription deliver to another public URL')
    .requiredOption('--public-url <url>', 'public https base of the ingress')
    .addHelpText('after', '\nExample:\n  faretrail move business status_changed --public-url https://rides.example')
    .action(
      run<SubscriptionArguments, GraceOptions & { publicUrl: string }>(
        async (context, [account, eventType], options) => {
          const key = { account, eventType };
          const input = parseMoveInput({ publicUrl: options.publicUrl, ...graceOf(options) });
          return await withSession(context, async (session) => {
            const status = await change(session, key, () =>
              handleOf(session, key).executeUpdate(moveSubscriptionUpdate, { args: [input] }),
            );
            context.tell(
              { workflowId: subscriptionId(key), subscription: status },
              subscriptionText(status, context.paint),
            );
            return exitCodes.done;
          });
        },
      ),
    );
}

function addUnsubscribe(program: Command, run: RunCommand): void {
  withSubscriptionArguments(program.command('unsubscribe'))
    .description('refuse further deliveries of a subscription')
    .option('--reason <text>', 'why, 1 to 200 characters', 'ended by hand')
    .addHelpText('after', '\nExample:\n  faretrail unsubscribe business status_changed --reason "moved away"')
    .action(
      run<SubscriptionArguments, CommonOptions & { reason: string }>(async (context, [account, eventType], options) => {
        const key = { account, eventType };
        const input = parseEndInput({ reason: options.reason });
        return await withSession(context, async (session) => {
          const end = await change(session, key, () =>
            handleOf(session, key).executeUpdate(endSubscriptionUpdate, { args: [input] }),
          );
          context.tell({ workflowId: subscriptionId(key), end }, subscriptionEndText(end, context.paint));
          return exitCodes.done;
        });
      }),
    );
}

const handleOf = ({ client }: Session, key: SubscriptionKey) => client.workflow.getHandle(subscriptionId(key));

/** Sends an update to the running subscription. Throws `CliFailure` NotSubscribed, NoWorker, NoAnswer. */
async function change<Answer>(session: Session, key: SubscriptionKey, send: () => Promise<Answer>): Promise<Answer> {
  await getSubscription(session, key);
  return await sendUpdate(session, send, () => noAnswer(session, key));
}

async function noAnswer(session: Session, key: SubscriptionKey): Promise<CliFailure> {
  const attention = (await readSubscriptionStatus(session, key))?.attention;
  const why = attention ? `${attention.code}: ${attention.message}` : 'the service may be slow';
  const message = `no answer within ${answerWithinMs / 1_000} s, but the subscription has been asked and goes on trying: ${why}`;
  return new CliFailure('NoAnswer', message);
}
