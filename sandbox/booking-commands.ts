import { type BookingChange, type BookingSettings, changedBookingSettings } from './booking-settings.js';
import type { CreatedOrder } from './bookings.js';
import type { ReferenceCode } from './reference-codes.js';
import type { SandboxState } from './sandbox-state.js';

/** What one can tell a sandbox about the orders that calls create. */
export interface BookingCommands {
  /** Every order that a create call made, in that order: a ride that was booked twice stands here twice. */
  createdOrders(): CreatedOrder[];
  /** Every reference code that a call added. */
  referenceCodes(): ReferenceCode[];
  bookingSettings(): BookingSettings;
  /** Lays a change over the settings in force. Gives all of them. */
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
