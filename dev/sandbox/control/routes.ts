import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { rideInterfaces } from '../../../src/domain/account.js';
import { addDeliveryRoutes } from '../delivery/commands.js';
import { FaultSchema } from '../faults.js';
import { operations } from '../operations.js';
import { SandboxOrderSchema } from '../order/orders.js';
import { addBookingRoutes } from '../ride/commands.js';
import type { SandboxCommands } from './commands.js';
import { command } from './input.js';

const Interface = z.enum(rideInterfaces);
const OneOrder = { interface: Interface, orderId: z.string().min(1) };
const Secret = z.string().min(1);
const Nothing = z.strictObject({});

const LedgerQuery = z.strictObject({
  operation: z.enum([...operations, 'unknown']).optional(),
  orderId: z.string().optional(),
  clientId: z.string().optional(),
  since: z.iso.datetime({ offset: true }).optional(),
});

/** The commands over HTTP under `/sandbox/`, for other processes. Query, path and JSON body together are the input. */
export function addCommandRoutes(app: FastifyInstance, commands: SandboxCommands): void {
  app.get('/sandbox/health', () => ({ status: 'ok' }));
  addOrderRoutes(app, commands);
  addFaultRoutes(app, commands);
  addTokenRoutes(app, commands);
  addDeliveryRoutes(app, commands);
  addBookingRoutes(app, commands);
  app.post(
    '/sandbox/down',
    command(z.strictObject({ down: z.boolean() }), ({ down }) => commands.setDown(down)),
  );
  app.get(
    '/sandbox/ledger',
    command(LedgerQuery, (filter) => commands.ledger(filter)),
  );
  app.delete(
    '/sandbox/ledger',
    command(Nothing, () => commands.resetLedger()),
  );
  app.get(
    '/sandbox/counts',
    command(Nothing, () => commands.counts()),
  );
}

function addOrderRoutes(app: FastifyInstance, commands: SandboxCommands): void {
  const Batch = z.strictObject({ orders: z.array(SandboxOrderSchema) });
  const Status = z.strictObject({ ...OneOrder, status: z.string().min(1) });
  app.post(
    '/sandbox/orders',
    command(SandboxOrderSchema, (order) => commands.addOrder(order)),
  );
  app.post(
    '/sandbox/orders/batch',
    command(Batch, ({ orders }) => commands.addOrders(orders)),
  );
  app.put(
    '/sandbox/orders/:interface/:orderId/status',
    command(Status, (input) => commands.setStatus(input.interface, input.orderId, input.status)),
  );
  app.get(
    '/sandbox/orders/:interface/:orderId/course',
    command(z.strictObject(OneOrder), (input) => commands.orderCourse(input.interface, input.orderId)),
  );
  app.post(
    '/sandbox/orders/:interface/:orderId/advance',
    command(z.strictObject(OneOrder), (input) => ({ status: commands.advance(input.interface, input.orderId) })),
  );
}

function addFaultRoutes(app: FastifyInstance, commands: SandboxCommands): void {
  const Id = z.strictObject({ id: z.coerce.number().int() });
  app.post(
    '/sandbox/faults',
    command(FaultSchema, (fault) => ({ id: commands.setFault(fault) })),
  );
  app.delete(
    '/sandbox/faults',
    command(Nothing, () => commands.clearFaults()),
  );
  app.delete(
    '/sandbox/faults/:id',
    command(Id, ({ id }) => ({ cleared: commands.clearFault(id) })),
  );
}

function addTokenRoutes(app: FastifyInstance, commands: SandboxCommands): void {
  const Revoke = z.strictObject({ clientId: z.string().min(1).optional() });
  const Credentials = z.strictObject({ interface: Interface, clientId: Secret, clientSecret: Secret });
  const Lifetime = z.strictObject({ interface: Interface, seconds: z.int().min(1) });
  app.post(
    '/sandbox/revoke',
    command(Revoke, ({ clientId }) => ({ revoked: commands.revokeTokens(clientId) })),
  );
  app.post(
    '/sandbox/credentials',
    command(Credentials, ({ interface: at, ...credentials }) => commands.setCredentials(at, credentials)),
  );
  app.post(
    '/sandbox/lifetime',
    command(Lifetime, ({ interface: at, seconds }) => commands.setTokenLifetime(at, seconds)),
  );
  app.get(
    '/sandbox/tokens',
    command(Nothing, () => commands.issuedTokens()),
  );
}
