import { z } from 'zod';
import { type RideInterface, rideInterfaces } from '../../../src/domain/account.js';
import { eventTypes } from '../../../src/domain/subscription/subscription.js';
import { DeliveryRequestSchema } from '../delivery/requests.js';
import { DeliveryChangeSchema } from '../delivery/settings.js';
import { FaultSchema } from '../faults.js';
import { operations } from '../operations.js';
import { SandboxOrderSchema } from '../order/orders.js';
import { changed, RideChangeSchema } from '../ride/settings.js';
import type { SandboxState } from '../sandbox-state.js';
import { NewSubscriberSchema } from '../subscription/subscribers.js';

/** One command of tests, the bench and the local stack to a sandbox. */
interface Command<Schema extends z.ZodType, Args extends unknown[], Result> {
  /** How it is sent over HTTP. Query, path and JSON body together are its input. */
  route: `${'GET' | 'POST' | 'PUT' | 'DELETE'} ${string}`;
  schema: Schema;
  /** Its input, from the arguments of a call. */
  input: (...args: Args) => z.input<Schema>;
  run: (state: SandboxState, input: z.output<Schema>) => Result;
  /** The name under which an answer over HTTP holds a result that is no object. */
  as?: string;
}

const define = <Schema extends z.ZodType, Args extends unknown[], Result>(
  command: Command<Schema, Args, Result>,
): Command<Schema, Args, Result> => command;

/** A command that takes one object. */
const whole = <Schema extends z.ZodType, Result>(
  route: Command<Schema, [], Result>['route'],
  schema: Schema,
  run: (state: SandboxState, input: z.output<Schema>) => Result,
  as?: string,
) => define({ route, schema, input: (input: z.input<Schema>) => input, run, ...(as !== undefined && { as }) });

/** A question that takes a filter, or nothing. */
const filtered = <Schema extends z.ZodType, Result>(
  route: Command<Schema, [], Result>['route'],
  schema: Schema,
  run: (state: SandboxState, filter: z.output<Schema>) => Result,
) => define({ route, schema, input: (filter?: z.input<Schema>) => (filter ?? {}) as z.input<Schema>, run });

/** A command that takes nothing. */
const plain = <Result>(route: Command<z.ZodType, [], Result>['route'], run: (state: SandboxState) => Result) =>
  define({ route, schema: z.strictObject({}), input: () => ({}), run });

const Interface = z.enum(rideInterfaces);
const OneOrder = z.strictObject({ interface: Interface, orderId: z.string().min(1) });
const Secret = z.string().min(1);
const oneOrder = (at: RideInterface, orderId: string) => ({ interface: at, orderId });

/** All commands. Bad input throws `InvalidInput` or `ZodError`. */
export const commands = {
  addOrder: whole('POST orders', SandboxOrderSchema, ({ orders }, order) => orders.add(order, { isCreated: false })),
  addOrders: define({
    route: 'POST orders/batch',
    schema: z.strictObject({ orders: z.array(SandboxOrderSchema) }),
    input: (orders: readonly z.input<typeof SandboxOrderSchema>[]) => ({ orders: [...orders] }),
    run(state, { orders }): void {
      for (const order of orders) state.orders.add(order, { isCreated: false });
    },
  }),
  /** Sets a status, and drops the rest of the order's script. */
  setStatus: define({
    route: 'PUT orders/:interface/:orderId/status',
    schema: OneOrder.extend({ status: z.string().min(1) }),
    input: (at: RideInterface, orderId: string, status: string) => ({ ...oneOrder(at, orderId), status }),
    run: ({ orders }, { interface: at, orderId, status }) => orders.setStatus(at, orderId, status),
  }),
  /** Takes the next step of the order's script now. Returns the status. */
  advance: define({
    ...{ route: 'POST orders/:interface/:orderId/advance', schema: OneOrder, input: oneOrder, as: 'status' },
    run: ({ orders }, { interface: at, orderId }) => orders.advance(at, orderId),
  }),
  /** The past statuses of an order, and those that its script still holds. */
  orderCourse: define({
    ...{ route: 'GET orders/:interface/:orderId/course', schema: OneOrder, input: oneOrder },
    run: ({ orders }, { interface: at, orderId }) => orders.course(at, orderId),
  }),

  /** Switches a fault on. Returns its id. */
  setFault: whole('POST faults', FaultSchema, ({ faults }, fault) => faults.set(fault), 'id'),
  /** False: no such fault is on. */
  clearFault: define({
    ...{ route: 'DELETE faults/:id', schema: z.strictObject({ id: z.coerce.number<number>().int() }), as: 'cleared' },
    input: (id: number) => ({ id }),
    run: ({ faults }, { id }) => faults.clear(id),
  }),
  clearFaults: plain('DELETE faults', ({ faults }) => faults.clearAll()),
  /** While down, the sandbox drops every connection of a service call. Commands still work. */
  setDown: define({
    ...{ route: 'POST down', schema: z.strictObject({ down: z.boolean() }) },
    input: (down: boolean) => ({ down }),
    run(state, { down }): void {
      state.isDown = down;
    },
  }),

  /** Ends the tokens of one client, or all. Returns their number. */
  revokeTokens: define({
    ...{ route: 'POST revoke', schema: z.strictObject({ clientId: Secret.optional() }), as: 'revoked' },
    input: (clientId?: string) => ({ clientId }),
    run: ({ tokens }, { clientId }) => tokens.revoke(clientId),
  }),
  /** Accepts only these credentials from now on; tokens issued before stay valid. */
  setCredentials: define({
    route: 'POST credentials',
    schema: z.strictObject({ interface: Interface, clientId: Secret, clientSecret: Secret }),
    input: (at: RideInterface, client: { clientId: string; clientSecret: string }) => ({ interface: at, ...client }),
    run({ clients }, { interface: at, ...credentials }): void {
      clients[at] = { ...clients[at], ...credentials };
    },
  }),
  /** Applies to tokens issued from now on. */
  setTokenLifetime: define({
    ...{ route: 'POST lifetime', schema: z.strictObject({ interface: Interface, seconds: z.int().min(1) }) },
    input: (at: RideInterface, seconds: number) => ({ interface: at, seconds }),
    run({ clients }, { interface: at, seconds }): void {
      clients[at] = { ...clients[at], tokenLifetimeSeconds: seconds };
    },
  }),
  /** All access tokens that the sandbox has issued, to search for leaks. */
  issuedTokens: plain('GET tokens', ({ tokens }) => tokens.texts()),

  ledger: filtered(
    'GET ledger',
    z.strictObject({
      operation: z.enum([...operations, 'unknown']).optional(),
      orderId: z.string().optional(),
      clientId: z.string().optional(),
      since: z.iso.datetime({ offset: true }).optional(),
    }),
    ({ ledger }, filter) => ledger.entries(filter),
  ),
  counts: plain('GET counts', ({ ledger }) => ledger.counts()),
  resetLedger: plain('DELETE ledger', ({ ledger }) => ledger.reset()),

  /** All live subscribers with their secrets, to check what a client keeps, and to search for leaks. */
  subscribers: plain('GET subscribers', ({ subscribers }) => subscribers.all()),
  /** Adds a subscriber without a call to the service. */
  addSubscriber: whole('POST subscribers', NewSubscriberSchema, ({ subscribers }, one) => subscribers.add(one)),
  /** False: no such subscriber exists. */
  removeSubscriber: define({
    ...{ route: 'DELETE subscribers/:id', schema: z.strictObject({ id: z.string() }), as: 'removed' },
    input: (id: string) => ({ id }),
    run: ({ subscribers }, { id }) => subscribers.remove(id),
  }),

  deliverySettings: plain('GET deliveries/settings', ({ deliveries }) => deliveries.settings()),
  /** Changes some of the settings. Gives all of them. */
  setDeliverySettings: whole('PUT deliveries/settings', DeliveryChangeSchema, ({ deliveries }, change) =>
    deliveries.setSettings(change),
  ),
  /** Sends deliveries now. Resolves after the first attempt of each. */
  deliver: whole('POST deliveries', DeliveryRequestSchema, ({ deliveries }, request) => deliveries.deliver(request)),
  /** All attempts so far. */
  deliveries: filtered(
    'GET deliveries',
    z.strictObject({
      eventType: z.enum(eventTypes).optional(),
      orderId: z.string().optional(),
      subscriberId: z.string().optional(),
    }),
    ({ deliveries }, filter) => deliveries.ledger.entries(filter),
  ),
  deliveryCounts: plain('GET deliveries/counts', ({ deliveries }) => deliveries.ledger.counts()),
  resetDeliveries: plain('DELETE deliveries', ({ deliveries }) => deliveries.ledger.reset()),

  /** Every order that a create call made, oldest first. A ride that was ordered twice is there twice. */
  createdOrders: plain('GET rides', ({ rides }) => rides.all()),
  /** Every reference code that a call added. */
  referenceCodes: plain('GET rides/reference-codes', ({ referenceCodes }) => referenceCodes.all()),
  rideSettings: plain('GET rides/settings', ({ rideSettings }) => rideSettings),
  /** Changes some of the settings. Gives all of them. */
  setRideSettings: whole('PUT rides/settings', RideChangeSchema, (state, change) => {
    state.rideSettings = changed(state.rideSettings, change);
    return state.rideSettings;
  }),
};

type Commands = typeof commands;

/** The commands as functions. */
export type SandboxCommands = {
  [Name in keyof Commands]: (...args: Parameters<Commands[Name]['input']>) => ReturnType<Commands[Name]['run']>;
};

/** A command whose types are left out, for what all of them have in common. */
export type AnyCommand = Command<z.ZodType, unknown[], unknown>;
export const allCommands = Object.entries(commands) as unknown as [keyof Commands, AnyCommand][];

/** The commands on this state. */
export const createCommands = (state: SandboxState): SandboxCommands =>
  Object.fromEntries(
    allCommands.map(([name, { schema, input, run }]) => [
      name,
      (...args: unknown[]) => run(state, schema.parse(input(...args))),
    ]),
  ) as unknown as SandboxCommands;
