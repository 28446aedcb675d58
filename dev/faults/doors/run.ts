import { fork } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createFaretrailClient } from '../../../src/client/index.js';
import { receiverSecret, toWebhookSecret } from '../../../src/notify-http/sender.js';
import { closedLoop } from '../../bench/closed-loop.js';
import type { Verdict } from '../chaos/verdict.js';
import type { Profile } from '../profile.js';
import type { ActorName, Knowledge } from './actor.js';
import { openReceivers } from './actors/receiver.js';
import { judge } from './judge.js';
import { openStage, type Stage } from './stage.js';
import type { Tale } from './tally.js';
import { watchFor } from './watch.js';

export interface DoorsOptions extends Pick<Profile, 'say' | 'onEnd'> {
  seed: number;
  forMs: number;
  temporalProgram: string;
}

const followed = 200;
/** Orders with a notice to each receiver. */
const withNotices = 20;
const baselineMs = 40_000;

/** Lets all actors try at once, beside 200 followed orders, and judges what came of it. */
export async function runDoors({ seed, forMs, temporalProgram, say, onEnd }: DoorsOptions) {
  const notifySecret = randomBytes(32);
  const receivers = await openReceivers(seed, (origin) => toWebhookSecret(receiverSecret(notifySecret, origin)));
  onEnd(receivers.close);
  say('starting the deployment');
  const origins = [receivers.hostile, receivers.honest];
  const isSigned = seed % 2 === 1;
  say(isSigned ? 'the service signs its deliveries' : 'the address is the only proof of a delivery');
  const stage = await openStage({ temporalProgram, receivers: origins, notifySecret, isSigned, onEnd });
  const { orders, personal, told } = await followAll(stage, origins);
  const victim = await startVictim(stage);
  say(`${followed} orders are followed; ${baselineMs / 1_000} s without actors`);
  await watchFor(baselineMs / 2, stage, orders);
  const before = await watchFor(baselineMs, stage, orders);
  const sizesBefore = stage.sizes();
  say(`all actors try for ${forMs / 1_000} s`);
  const [url = ''] = (await stage.sandbox.subscribers()).map(({ hookAddress }) => hookAddress);
  const task = { seed, forMs };
  const some = [...orders.keys()].slice(0, 5);
  const acting = Promise.all([
    act('address', { ...task, url, orderIds: some }),
    act('viewer', { ...task, desk: stage.deskOrigin, login: 'ben.view', orderIds: some }),
    act('nexus', { ...task, address: stage.address, endpoint: stage.nexusEndpoint, orderIds: some, victim }),
  ]);
  const [during, [address, viewer, nexus]] = await Promise.all([watchFor(forMs, stage, orders), acting]);
  say('judging');
  const tales = { address, viewer, nexus };
  const evidence = { stage, isSigned, orders, personal, receivers, tales, before, during, sizesBefore, told, victim };
  const verdict: Verdict = await judge(evidence);
  return {
    ...verdict,
    answers: { address: address.answers, viewer: viewer.answers, nexus: nexus.answers, receiver: receivers.answers },
  };
}

/** Each actor is a process that knows only its message. */
async function act<Name extends ActorName>(name: Name, knows: Knowledge<Name>): Promise<Tale> {
  const child = fork(fileURLToPath(new URL('./actor.js', import.meta.url)), { env: { PATH: process.env.PATH } });
  child.send({ name, knows });
  const told = once(child, 'message').then(([tale]) => tale as Tale);
  const died = once(child, 'exit').then(([code]) => Promise.reject(new Error(`the actor ${name} ended with ${code}`)));
  died.catch(() => undefined); // after its tale
  return await Promise.race([told, died]);
}

async function followAll(stage: Stage, origins: readonly string[]) {
  const rides = createFaretrailClient({ client: stage.client, taskQueue: stage.taskQueue });
  const orders = new Map<string, Set<string>>();
  const personal: Record<string, string> = {};
  const told: string[] = [];
  await closedLoop({ count: followed, inFlight: 8, limitMs: 120_000 }, async (index) => {
    const orderId = randomUUID();
    const reference = `Passenger ${randomUUID()}`;
    await stage.sandbox.addOrder({ interface: 'business', orderId, script: [{ status: 'Driving', afterMs: 0 }] });
    const notify = index < withNotices ? origins.map((origin) => ({ url: `${origin}/orders` })) : [];
    await rides.follow({ account: 'business', orderId, reference, ...(notify.length > 0 && { notify }) });
    if (notify.length > 0) told.push(orderId);
    orders.set(orderId, new Set(['Driving']));
    personal[`the reference of ${orderId}`] = reference;
  });
  return { orders, personal, told };
}

/** A run of nobody's that waits for a signal: no worker takes its tasks. */
async function startVictim({ client }: Stage): Promise<string> {
  const workflowId = `victim-${randomUUID()}`;
  await client.workflow.start('approval', { workflowId, taskQueue: 'nobody' });
  return workflowId;
}
