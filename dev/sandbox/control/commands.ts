import type { RideInterface } from '../../../src/domain/account.js';
import { createDeliveryCommands, type DeliveryCommands } from '../delivery/commands.js';
import { type FaultInput, FaultSchema } from '../faults.js';
import type { LedgerCounts, LedgerEntry, LedgerFilter } from '../ledger.js';
import { type OrderCourse, type SandboxOrder, SandboxOrderSchema } from '../order/orders.js';
import { type BookingCommands, createBookingCommands } from '../ride/commands.js';
import type { SandboxState } from '../sandbox-state.js';

/** The commands of tests, the bench and the local stack to a sandbox. Bad input throws `InvalidInput` or `ZodError`. */
export interface SandboxCommands extends DeliveryCommands, BookingCommands {
  addOrder(order: SandboxOrder): void;
  addOrders(orders: readonly SandboxOrder[]): void;
  /** Sets a status, and drops the rest of the order's script. */
  setStatus(at: RideInterface, orderId: string, status: string): void;
  /** Takes the next step of the order's script now. Returns the status. */
  advance(at: RideInterface, orderId: string): string;
  /** The past statuses of an order, and those that its script still holds. */
  orderCourse(at: RideInterface, orderId: string): OrderCourse;
  /** Switches a fault on. Returns its id. */
  setFault(fault: FaultInput): number;
  /** False: no such fault is on. */
  clearFault(id: number): boolean;
  clearFaults(): void;
  /** Ends the tokens of one client, or all. Returns their number. */
  revokeTokens(clientId?: string): number;
  /** Accepts only these credentials from now on; tokens issued before stay valid. */
  setCredentials(at: RideInterface, credentials: { clientId: string; clientSecret: string }): void;
  /** Applies to tokens issued from now on. */
  setTokenLifetime(at: RideInterface, seconds: number): void;
  /** While down, the sandbox drops every connection of a service call. Commands still work. */
  setDown(down: boolean): void;
  ledger(filter?: LedgerFilter): LedgerEntry[];
  counts(): LedgerCounts;
  resetLedger(): void;
  /** All access tokens that the sandbox has issued, to search for leaks. */
  issuedTokens(): string[];
}

export function createCommands(state: SandboxState): SandboxCommands {
  const addOrder = (order: SandboxOrder) => state.orders.add(SandboxOrderSchema.parse(order));
  return {
    addOrder,
    addOrders: (orders) => orders.forEach(addOrder),
    setStatus: state.orders.setStatus,
    advance: state.orders.advance,
    orderCourse: state.orders.course,
    setFault: (fault) => state.faults.set(FaultSchema.parse(fault)),
    clearFault: state.faults.clear,
    clearFaults: state.faults.clearAll,
    revokeTokens: state.tokens.revoke,
    setCredentials(at, { clientId, clientSecret }) {
      state.clients[at] = { ...state.clients[at], clientId, clientSecret };
    },
    setTokenLifetime(at, seconds) {
      state.clients[at] = { ...state.clients[at], tokenLifetimeSeconds: seconds };
    },
    setDown(down) {
      state.isDown = down;
    },
    ledger: state.ledger.entries,
    counts: state.ledger.counts,
    resetLedger: state.ledger.reset,
    issuedTokens: state.tokens.texts,
    ...createDeliveryCommands(state),
    ...createBookingCommands(state),
  };
}
