import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createFaretrailClient, type FaretrailClient } from '../../../src/client/index.js';
import { toAccountName } from '../../../src/domain/keys.js';
import { subscriptionId } from '../../../src/domain/workflow-ids.js';
import { rotateSubscriptionUpdate } from '../../../src/workflows/messages.js';
import { until } from '../../stack/run/until.js';
import { findDevServer } from '../../stack/temporal/dev-server.js';
import { openForgery } from '../chaos/forgery.js';
import { rideBody } from '../chaos/ride-bodies.js';
import { allRuns } from '../chaos/runs.js';
import { openStage, type Stage } from '../chaos/stage.js';
import { subscribe } from '../chaos/work.js';
import { askedMoments, moments, type ToldMoment, wrongMoments } from './moments.js';
import type { Row, Wanted } from './report.js';
import { pythonTool, type Tool } from './tools.js';

const account = toAccountName('business');
/** The types of runs that take messages, and one run of each. */
const talkative = ['followOrder', 'requestRide', 'companyReport', 'subscription', 'accessToken', 'parkedDelivery'];
const types = [...talkative, 'businessCall', 'changeRide', 'notices'];

/** What the program says of one message. */
export type Told = [to: string, kind: string, name: string, form: string, outcome: string];

/** Another language's SDK sends what JSON or our inputs have no word for, to every run and as every input. */
export async function messages({ say, onEnd }: Wanted): Promise<Row[]> {
  const tool = await pythonTool('temporalio', 'examples/python', 'messages.py', say);
  const temporalProgram = await findDevServer(say);
  const timely = await atMoments(temporalProgram, { say, onEnd });
  const stage = await openStage({ temporalProgram, tokenLifetimeSeconds: 600 });
  onEnd(() => stage.close());
  const rides = createFaretrailClient({ client: stage.client, taskQueue: stage.taskQueue });
  const wellAfter = await startAll(stage, rides);
  const ids = await runningIds(stage);
  say('a run of each type goes on');
  const told = (await run(tool, stage, { types, ids })) as Told[];
  say(`${told.length} messages were sent`);
  const wrong = [...wronglyAnswered(told), ...(await wellAfter()), ...(await failedTasks(stage))];
  stage.keeps = wrong.length > 0;
  const count = (wanted: string) => told.filter(([, kind]) => kind === wanted).length;
  const refused = told.filter(([, , , , outcome]) => outcome.startsWith('InvalidInput ')).length;
  const counts = ['start', 'signal', 'update', 'query'].map((kind) => `${count(kind)} of kind ${kind}`).join(', ');
  return [
    timely,
    {
      tool: `${tool.name} (Python)`,
      version: tool.version,
      tried: `${new Set(told.map(([, , , form]) => form)).size} hostile values in every message and every input: ${counts}`,
      came: `${refused} refused as InvalidInput, none left without an answer; every run went on to its end`,
      wrong,
    },
  ];
}

/** Sends each update at many moments of a run, on its own stack, whose runs stay open. */
async function atMoments(temporalProgram: string, { say, onEnd }: Pick<Wanted, 'say' | 'onEnd'>): Promise<Row> {
  const tool = await pythonTool('temporalio', 'examples/python', 'moments.py', say);
  const stage = await openStage({ temporalProgram, tokenLifetimeSeconds: 600 });
  onEnd(() => stage.close());
  const told = (await run(tool, stage, await askedMoments(stage))) as ToldMoment[];
  say(`${told.length} updates were sent at moments of a life`);
  const wrong = [...wrongMoments(told), ...(await failedTasks(stage))];
  stage.keeps = wrong.length > 0;
  await stage.close();
  const outcomes = [...new Set(told.map(([, , outcome]) => outcome))];
  const times = (wanted: string) => told.filter(([, , outcome]) => outcome === wanted).length;
  return {
    tool: `${tool.name} (Python), at moments`,
    version: tool.version,
    tried: `each of ${new Set(told.map(([name]) => name)).size} updates at ${moments.length} moments of the first three seconds of a run`,
    came: outcomes.map((outcome) => `${times(outcome)} ${outcome}`).join(', '),
    wrong,
  };
}

const answerLimitMs = 60_000;

/** Starts one run of each type. Resolves with a look at all of them afterwards, which names what is wrong. */
async function startAll(stage: Stage, rides: FaretrailClient): Promise<() => Promise<string[]>> {
  const { sandbox, client } = stage;
  const orderId = 'under-fire';
  const goesOn = [{ status: 'Routing', afterMs: 0 }];
  await sandbox.setRideSettings({ script: goesOn });
  await sandbox.addOrders(
    ['under-fire', 'later'].map((id) => ({ interface: 'business', orderId: id, script: goesOn })),
  );
  await subscribe(stage);
  const order = await rides.follow({ account, orderId });
  const ride = await rides.request({ account, requestId: 'under-fire', order: rideBody(false) });
  await until('the ride has no order', async () => (await ride.status()).orderId !== null, { withinMs: 60_000 });
  const report = await rides.followReports({ account, orderId });
  const forge = await openForgery(sandbox);
  const delivery = forge?.({ eventType: 'status_changed' }); // it names no order, so it is parked
  const answer = await fetch(delivery?.url ?? '', {
    ...{ method: 'POST', headers: delivery?.headers ?? {}, body: delivery?.body.toString() ?? '' },
  });
  const { deliveryId } = (await answer.json()) as { deliveryId: string };

  return async () => {
    const wrong: string[] = [];
    const expectTo = async (what: string, act: () => Promise<boolean>) => {
      const tooLong = sleep(answerLimitMs, 'not in time', { ref: false });
      const isRight = await Promise.race([act(), tooLong]).catch((error: Error) => error);
      if (isRight !== true) wrong.push(`afterwards ${what}: ${isRight}`);
    };
    await sandbox.setStatus('business', orderId, 'Completed');
    await expectTo('the order ends', async () => (await order.result()).outcome === 'completed');
    await expectTo('the ride is cancelled', async () => {
      await ride.cancel();
      return (await ride.result()).outcome === 'cancelled';
    });
    await expectTo('the report answers', async () => (await report.report()).deliveries.received >= 0);
    const parked = rides.getParked(account, deliveryId);
    await expectTo('a person discards the parked delivery', async () => {
      await parked.discard('looked at');
      return true;
    });
    const subscription = client.workflow.getHandle(subscriptionId({ account, eventType: 'status_changed' }));
    const rotated = () => subscription.executeUpdate(rotateSubscriptionUpdate, { args: [{}] });
    await expectTo('the subscription rotates', async () => (await rotated()).state === 'active');
    const another = await rides.follow({ account, orderId: 'later' });
    await expectTo('another order is read', async () => (await another.refresh()).status === 'Routing');
    return wrong;
  };
}

async function runningIds({ client }: Stage): Promise<string[]> {
  const found = new Map<string, string>();
  await until('not every type of run goes on', async () => {
    for await (const { type, workflowId } of client.workflow.list({ query: 'ExecutionStatus = "Running"' }))
      found.set(type, workflowId);
    return talkative.every((type) => found.has(type));
  });
  return [...found.values()];
}

const sendLimitMs = 10 * 60_000;

async function run(tool: Tool, { address, taskQueue, folder }: Stage, asked: object): Promise<unknown> {
  const child = spawn(tool.program, [...tool.args], {
    env: { ...process.env, TEMPORAL_ADDRESS: address, FARETRAIL_TASK_QUEUE: taskQueue },
    stdio: ['pipe', 'ignore', 'inherit'],
    timeout: sendLimitMs,
  });
  const output = join(folder, 'told.json');
  child.stdin.end(JSON.stringify({ ...asked, output }));
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`the program in Python ended with ${code}`);
  return JSON.parse(readFileSync(output, 'utf8'));
}

/** `None` and a missing argument are right where a message has no field that must be set. */
const mayBeTaken = /^(no argument|None|two Nones|many arguments)$/;

/** One line for each message that had another answer than a run should give. */
export function wronglyAnswered(told: readonly Told[]): string[] {
  return told.flatMap(([to, kind, name, form, outcome]) => {
    const isRefused = outcome.startsWith('InvalidInput ');
    const isRight = {
      start: isRefused,
      signal: outcome === 'taken',
      update: isRefused || name === 'noSuchMessage' || (outcome === 'taken' && mayBeTaken.test(form)),
      query: !outcome.startsWith('no answer'),
    }[kind];
    return isRight ? [] : [`${kind} ${name} to ${to}, ${form}: ${outcome.slice(0, 300)}`];
  });
}

async function failedTasks(stage: Stage): Promise<string[]> {
  const wrong: string[] = [];
  for await (const { workflowId, taskFailures } of allRuns(stage))
    wrong.push(...taskFailures.map((failure) => `${workflowId}: a workflow task failed: ${failure}`));
  const ends = (['worker-1', 'worker-2'] as const).filter((name) => stage.members[name].ownEnds().length > 0);
  return [...wrong, ...ends.map((name) => `${name} ended by itself`)];
}
