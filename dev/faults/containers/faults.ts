import { until } from '../../stack/run/until.js';
import { journalled } from './confinement.js';
import type { Findings } from './report.js';
import type { Order, Rides } from './rides.js';
import type { Stack } from './stack.js';

export interface Scene {
  stack: Stack;
  rides: Rides;
  findings: Findings;
}

const ordersAtATime = 5;
const healsWithin = 60;
const ingress = 'sandbox-ingress';

/** Orders whose first change was announced by a delivery: from now on deliveries hurry their reads, and polls are slow. */
export async function pushedOrders({ rides }: Pick<Scene, 'rides'>): Promise<Order[]> {
  const orders = await Promise.all(Array.from({ length: ordersAtATime }, () => rides.follow()));
  await rides.known(orders);
  await rides.change(orders, 'Confirmed');
  await rides.acknowledged(orders, 1);
  await rides.known(orders);
  return orders;
}

/** Something breaks while orders are followed and change. It heals by itself, and nothing of the orders is lost. */
export async function breakSomething(
  scene: Scene,
  what: string,
  hurt: (stack: Stack) => Promise<unknown>,
): Promise<void> {
  const { stack, rides, findings } = scene;
  const orders = await pushedOrders(scene);
  const heal = async () => {
    const hurting = hurt(stack);
    await rides.change(orders, 'Driving');
    await hurting;
    await rides.change(orders, 'Waiting');
    await until(`${what}: not all is healthy again`, () => stack.isHealthy());
    await rides.known(orders);
  };
  await findings.time(`${what}: healthy, changes known`, heal, healsWithin);
  findings.check(`${what}: no status, delivery or end is lost`, await rides.complete(orders));
}

/** `kill -9` of an ingress that has nothing but its journal, since Temporal is away. */
export async function killIngress(scene: Scene): Promise<void> {
  const { stack, rides, findings } = scene;
  const orders = await pushedOrders(scene);
  await fillJournal(scene, orders);
  const what = 'kill -9 of an ingress with deliveries in its journal, Temporal stopped';
  const heal = async () => {
    await stack.kill(ingress);
    await until(`${what}: not healthy again`, () => stack.isHealthy(ingress));
  };
  await findings.time(`${what}: healthy`, heal, healsWithin);
  await rides.change(orders, 'Waiting');
  await rides.acknowledged(orders, 3);
  const recover = async () => {
    await stack.compose('start', 'temporal');
    await until('not all is healthy again', () => stack.isHealthy());
    await rides.known(orders);
  };
  await findings.time('start of Temporal after that: all healthy, changes and deliveries known', recover, healsWithin);
  findings.check(`${what}: no status, delivery or end is lost`, await rides.complete(orders));
}

/** Stops Temporal, and has the ingress acknowledge one more delivery of each order. */
export async function fillJournal({ stack, rides, findings }: Scene, orders: readonly Order[]): Promise<void> {
  await stack.compose('stop', 'temporal');
  await rides.change(orders, 'Driving');
  await rides.acknowledged(orders, 2);
  const count = await journalled(stack, ingress);
  findings.check('deliveries wait in the journal', count >= orders.length ? [] : [`${count} of ${orders.length}`]);
}
