import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { createFaretrailClient, type OrderTrail, withPayloadKeys } from '../../../src/client/index.js';
import { controlSandbox, type SandboxControl } from '../../sandbox/control/client.js';
import type { DeliveryAttempt } from '../../sandbox/delivery/ledger.js';
import { until } from '../../stack/run/until.js';
import { untrueTrail } from '../chaos/judge-work.js';
import type { OnEnd } from '../profile.js';
import type { Stack } from './stack.js';

/** An order of the sandbox, which a run in a container follows. */
export interface Order {
  orderId: string;
  statuses: string[];
  /** What sandboxes that were stopped have sent. */
  earlier: DeliveryAttempt[];
}

/** What a service and the sandbox do with orders, from outside the containers. */
export interface Rides {
  sandbox: SandboxControl;
  /** Adds the order with its last status. The sandbox keeps orders in memory: after its restart it has to be told again. */
  add(order: Order): Promise<void>;
  /** Every attempt to deliver a change of the order. */
  attempts(order: Order): Promise<DeliveryAttempt[]>;
  /** Starts to follow a new order. */
  follow(reference?: string): Promise<Order>;
  /** Gives each order its next status. */
  change(orders: readonly Order[], status: string): Promise<void>;
  /** Waits until so many deliveries of each order were acknowledged. */
  acknowledged(orders: readonly Order[], count: number): Promise<void>;
  /** Waits until the run knows the last status and every acknowledged delivery of each order. */
  known(orders: readonly Order[]): Promise<void>;
  /** Lets the orders end, and names what is wrong with each: a status, a delivery or an end that was lost. */
  complete(orders: readonly Order[]): Promise<string[]>;
}

const account = 'business';
export const sandboxNamespace = 'sandbox';
const first = 'Routing';
const accepted = 202;

/** Connects to Temporal at its published port. Writes encrypted payloads where the workers do. */
export async function openRides(stack: Stack, onEnd: OnEnd): Promise<Rides> {
  const connection = await Connection.connect({ address: `127.0.0.1:${stack.ports.temporal}` });
  onEnd(() => connection.close());
  const encrypts = stack.settings.FARETRAIL_ENCRYPT_PAYLOADS === 'true';
  const dataConverter = withPayloadKeys(`p1:${stack.secrets.get('payload_keys')}`, { encrypts });
  const client = new Client({ connection, namespace: sandboxNamespace, dataConverter });
  const product = createFaretrailClient({ client });
  const sandbox = controlSandbox(`http://127.0.0.1:${stack.ports.sandbox}`);
  await until('the sandbox does not answer', sandbox.isHealthy);
  const handle = ({ orderId }: Order) => product.get(account, orderId);

  const attemptsOf = async ({ orderId, earlier }: Order) => [...earlier, ...(await sandbox.deliveries({ orderId }))];
  const arrived = ({ deliveries }: OrderTrail): number => deliveries.received - deliveries.duplicate;

  async function add({ orderId, statuses }: Order): Promise<void> {
    const script = [{ status: statuses.at(-1) ?? first, afterMs: 0 }];
    await sandbox.addOrder({ interface: account, orderId, script });
  }

  async function deliveriesOf(order: Order): Promise<{ sent: number; taken: number }> {
    const attempts = await attemptsOf(order);
    const taken = attempts.filter(({ answer }) => answer === accepted).map(({ acknowledgedAs }) => acknowledgedAs);
    return { sent: new Set(attempts.map(({ status }) => status)).size, taken: new Set(taken).size };
  }

  async function isKnown(order: Order): Promise<boolean> {
    const trail = await handle(order).trail({ withinMs: 5_000 });
    return trail.status === order.statuses.at(-1) && arrived(trail) >= (await deliveriesOf(order)).taken;
  }

  async function faultsOf(order: Order): Promise<string[]> {
    const trail = await handle(order).result();
    const { sent, taken } = await deliveriesOf(order);
    // What was durable when an ingress was killed arrives, though its acknowledgement was lost.
    const acknowledged = Math.max(taken, Math.min(arrived(trail), sent));
    const untrue = untrueTrail(
      trail,
      order.statuses.map((status) => ({ status, at: '' })),
    );
    const isAllThere = arrived(trail) === acknowledged;
    return [
      ...(untrue === null ? [] : [`${order.orderId} ${untrue}`]),
      ...(isAllThere ? [] : [`${order.orderId}: ${acknowledged} deliveries acknowledged, ${arrived(trail)} arrived`]),
    ];
  }

  const rides: Rides = {
    ...{ sandbox, add, attempts: attemptsOf },
    async follow(reference) {
      const order: Order = { orderId: randomUUID(), statuses: [first], earlier: [] };
      await add(order);
      await product.follow({ account, orderId: order.orderId, ...(reference !== undefined && { reference }) });
      return order;
    },
    async change(orders, status) {
      for (const order of orders) {
        order.statuses.push(status);
        await sandbox.setStatus(account, order.orderId, status);
      }
    },
    async acknowledged(orders, count) {
      const isTaken = async (order: Order) => (await deliveriesOf(order)).taken >= count;
      for (const order of orders) await until(`no ${count} deliveries of ${order.orderId}`, () => isTaken(order));
    },
    async known(orders) {
      for (const order of orders) await until(`order ${order.orderId} is not up to date`, () => isKnown(order));
    },
    async complete(orders) {
      await rides.change(orders, 'Completed');
      await rides.known(orders);
      return (await Promise.all(orders.map(faultsOf))).flat();
    },
  };
  return rides;
}
