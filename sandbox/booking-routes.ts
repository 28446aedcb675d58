import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { BookingCommands } from './booking-commands.js';
import { BookingChangeSchema } from './booking-settings.js';
import { command } from './command-input.js';

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
