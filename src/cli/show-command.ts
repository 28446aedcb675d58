import type { Command } from 'commander';
import { exitCodes } from './cli-failure.js';
import { type RunCommand, withSession } from './command-context.js';
import { type OrderArguments, withOrderArguments } from './order-command.js';
import { getOrderRun, readTrail } from './order-run.js';
import { runText, toRunJson } from './run-view.js';

/** `show <account> <orderId>`: the trail of an order, open or ended. */
export function addShowCommand(program: Command, run: RunCommand): void {
  withOrderArguments(program.command('show'))
    .description('show the trail of an order, with or without a worker')
    .addHelpText('after', '\nExample:\n  faretrail show partner 42')
    .action(
      run<OrderArguments>(async (context, [account, orderId]) => {
        const key = { account, orderId };
        return await withSession(context, async (session) => {
          const shown = await readTrail(session, key, await getOrderRun(session, key));
          context.tell(toRunJson(shown), runText(shown, key, context.paint));
          return exitCodes.done;
        });
      }),
    );
}
