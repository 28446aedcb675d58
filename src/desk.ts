import { ConfigError, loadCliConfig } from './config.js';
import { createLive } from './desk/live.js';
import { createReads } from './desk/reads.js';
import { openRuns } from './desk/runs.js';
import { startDesk } from './desk/server.js';
import { createLogger } from './observability/logging.js';
import { runProcess, stopSignal, userName } from './run-process.js';
import { openStore } from './store/store.js';

async function main(): Promise<void> {
  const { store: setting, desk: settings, taskQueue, logLevel } = loadCliConfig(process.env);
  if (typeof setting === 'string')
    throw new ConfigError(['FARETRAIL_STORE_URL: missing; the desk shows what workers keep in the store']);
  const logger = createLogger({ level: logLevel, process: 'desk' });
  const store = openStore(setting.url, { connections: 4 });
  const trouble = await store.trouble();
  if (trouble) logger.warn(trouble);
  const reads = createReads(store);
  const runs = openRuns(process.env, taskQueue);
  const live = createLive(reads, async () => JSON.stringify(await runs.inNeed()));
  const localUser = settings.login ? '' : userName();
  const desk = await startDesk({ settings, reads, runs, live, logger, localUser });
  const stop = stopSignal();
  logger.info({ origin: desk.origin, signIn: settings.login !== null }, 'desk started');

  await stop;
  await desk.close();
  await runs.close();
  await store.close();
  logger.info('desk stopped');
  process.exit(0);
}

await runProcess('desk', main);
