import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { command } from '../control/input.js';
import type { SandboxState } from '../sandbox-state.js';
import type { ReferenceCode } from './reference-codes.js';
import type { CreatedOrder } from './rides.js';
import { type BookingChange, BookingChangeSchema, type BookingSettings, changedBookingSettings } from './settings.js';

/** Commands about the orders that calls create. */
export interface BookingCommands {
  /** Every order that a create call made, oldest first. A ride that was booked twice is there twice. */
  createdOrders(): CreatedOrder[];
  /** Every reference code that a call added. */
  referenceCodes(): ReferenceCode[];
  bookingSettings(): BookingSettings;
  /** Changes some of the settings. Gives all of them. */
  setBookingSettings(change: BookingChange): BookingSettings;
}

export const createBookingCommands = (state: SandboxState): BookingCommands => ({
  createdOrders: state.bookings.all,
  referenceCodes: state.referenceCodes.all,
  bookingSettings: () => state.bookingSettings,
  setBookingSettings(change) {
    state.bookingSettings = changedBookingSettings(state.bookingSettings, change);
    return state.bookingSettings;
  },
});

const Nothing = z.strictObject({});

/** The commands about created orders over HTTP, under `/sandbox/bookings`. */
export function addBookingRoutes(app: FastifyInstance, commands: BookingCommands): void {
  const bookings = '/sandbox/bookings';
  app.get(
    bookings,
    command(Nothing, () => commands.createdOrders()),
  );
  app.get(
    `${bookings}/reference-codes`,
    command(Nothing, () => commands.referenceCodes()),
  );
  app.get(
    `${bookings}/settings`,
    command(Nothing, () => commands.bookingSettings()),
  );
  app.put(
    `${bookings}/settings`,
    command(BookingChangeSchema, (change) => commands.setBookingSettings(change)),
  );
}
