// Runs the recorded histories as tests, each mutation in the sandbox of the workflows: a test runner for Stryker. It takes the bundle and
// the comparison of `test/replay`, and keeps one worker for all mutations, so most of them take a tenth of a second.
import { readdirSync, readFileSync } from 'node:fs';
import { declareClassPlugin, PluginKind } from '@stryker-mutator/api/plugin';
import { DryRunStatus, MutantRunStatus, TestStatus } from '@stryker-mutator/api/test-runner';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { bundleRecorded, replayToTheLetter, startReplayer } from '../../dist/dev/replay/replayer.js';

const folder = 'test/replay/histories';
/** More than any history reaches one place; an endless loop reaches it more often. */
const mostHits = 2_000;

/** What the changed code asks, before any of it: the objects that a worker shares between runs are frozen, so their state is in here. */
const prefix = (mutant = null) => `{
  let active = ${JSON.stringify(mutant)};
  let hits = 0;
  const reached = new Set();
  const counter = new Proxy(Object.freeze({}), { get: () => 0, set: (_, id) => Boolean(reached.add(id)) });
  globalThis.__stryker__ = {
    get activeMutant() { return active; },
    get hitCount() { return hits; },
    set hitCount(count) { hits = count; },
    hitLimit: ${mostHits},
    mutantCoverage: { static: counter, perTest: {} },
  };
  globalThis.mutation = {
    choose(id) { active = id; hits = 0; },
    takeReached() { const ids = [...reached]; reached.clear(); return ids; },
  };
}
`;

class ReplayRunner {
  capabilities = () => ({ reloadEnvironment: true });

  async init() {
    const logger = new DefaultLogger('ERROR', () => undefined);
    Runtime.install({
      logger,
      telemetryOptions: { logging: { forward: {}, filter: { core: 'ERROR', other: 'ERROR' } } },
    });
    this.code = await bundleRecorded(process.cwd(), logger);
    const read = (file) => ({ name: file.replace('.json', ''), json: readFileSync(`${folder}/${file}`, 'utf8') });
    this.histories = readdirSync(folder)
      .map(read)
      .sort((a, b) => a.json.length - b.json.length);
  }

  start = (mutant) => startReplayer({ code: prefix(mutant) + this.code });

  async dryRun() {
    this.replayer = this.start();
    const loaded = new Set();
    const perTest = {};
    const tests = [];
    const toCounts = (ids) => Object.fromEntries([...ids].map((id) => [id, 1]));
    for (const { name, json } of this.histories) {
      const startedAt = performance.now();
      const test = { id: name, name, fileName: `${folder}/${name}.json`, status: TestStatus.Success };
      await replayToTheLetter(this.replayer, name, json).then(
        ({ reached, early }) => {
          perTest[name] = toCounts(reached);
          for (const id of early) loaded.add(id);
        },
        ({ message }) => Object.assign(test, { status: TestStatus.Failed, failureMessage: message }),
      );
      tests.push({ ...test, timeSpentMs: performance.now() - startedAt });
    }
    const mutantCoverage = { static: toCounts(loaded), perTest };
    return { status: DryRunStatus.Complete, tests, mutantCoverage };
  }

  dispose = () => this.replayer?.close();

  async mutantRun({ activeMutant: { id }, mutantActivation, testFilter }) {
    const isStatic = mutantActivation === 'static';
    if (!isStatic && !this.replayer?.isOpen()) this.replayer = this.start();
    const replayer = isStatic ? this.start(id) : this.replayer;
    const tests = this.histories.filter(({ name }) => !testFilter || testFilter.includes(name));
    let nrOfTests = 0;
    try {
      for (const { name, json } of tests) {
        nrOfTests += 1;
        const failure = await replayToTheLetter(replayer, name, json, isStatic ? '' : id).catch((error) => error);
        if (!(failure instanceof Error)) continue;
        return { status: MutantRunStatus.Killed, killedBy: [name], failureMessage: failure.message, nrOfTests };
      }
      return { status: MutantRunStatus.Survived, nrOfTests };
    } finally {
      if (isStatic) void replayer.close();
    }
  }
}

export const strykerPlugins = [declareClassPlugin(PluginKind.TestRunner, 'replays', ReplayRunner)];
