import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { projectRoot } from '../stack/temporal/project-root.js';
import { shootDesk } from './desk.js';
import { type BenchResults, drawPlot, plots } from './plots.js';
import { savePicture } from './save.js';
import { shootUi } from './ui.js';
import { shootViews } from './views.js';

const program = new Command('npm run pictures --').description('Makes the pictures of the documentation.');

program
  .command('ui')
  .description(
    'the Temporal UI: of a local stack, so run `npm start` beside it, and of a ride with payload encryption,\n' +
      'for which it starts a stack of its own',
  )
  .option('--ui <url>', 'address of the Temporal UI of the local stack', 'http://127.0.0.1:8233')
  .option('--browser <path>', 'a Chromium; by default that of the system')
  .action(shootUi);

program
  .command('views')
  .description(
    'lists of runs in the Temporal UI, with orders that it makes: run `npm start` beside it, and read its settings\n' +
      'first: set -a; . .faretrail/local.env; set +a',
  )
  .option('--ui <url>', 'address of the Temporal UI of the local stack', 'http://127.0.0.1:8233')
  .option('--browser <path>', 'a Chromium; by default that of the system')
  .action(shootViews);

program
  .command('desk')
  .description('the desk, over a stack of its own')
  .option('--browser <path>', 'a Chromium; by default that of the system')
  .action(shootDesk);

program
  .command('figures')
  .description('plots of docs/figures/bench.json, the output of `npm run bench -- --json`')
  .action(() => {
    const results = JSON.parse(readFileSync(join(projectRoot, 'docs/figures/bench.json'), 'utf8')) as BenchResults;
    for (const [name, plot] of Object.entries(plots)) savePicture(name, drawPlot(plot, results));
  });

program.parseAsync().then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  },
);
