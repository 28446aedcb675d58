import { valueAt } from './json-pointer.js';

/** What a service may want of an order besides its status. `driver` and the plate are personal data, and only there where
 *  they may be kept. Texts as they came; the spelling on the wire is assumed (upstream section 5.2). */
export type RideDetails = {
  requestedAt?: string;
  scheduledAt?: string;
  willArriveAtPickup?: string;
  pickedUpAt?: string;
  droppedOffAt?: string;
  supplier?: { name?: string; code?: string };
  driver?: { name?: string; phone?: string; imageUrl?: string };
  vehicle?: { model?: string; licensePlate?: string };
};

const maxTextLength = 200;

/** A non-empty text of bounded length; a longer one is not cut, since a part of it would be a claim nobody made. */
export function usableText(value: unknown, maxLength: number): string | undefined {
  return typeof value === 'string' && value.trim() !== '' && value.length <= maxLength ? value : undefined;
}

function textsAt<Key extends string>(order: unknown, pointers: Record<Key, string>): { [K in Key]?: string } {
  const texts: { [K in Key]?: string } = {};
  for (const key of Object.keys(pointers) as Key[]) {
    const text = usableText(valueAt(order, pointers[key]), maxTextLength);
    if (text !== undefined) texts[key] = text;
  }
  return texts;
}

const isEmpty = (object: object): boolean => Object.keys(object).length === 0;

/** Whether personal data of drivers is kept of an answer. Default: it is not. */
export interface Keeping {
  keepsPersonalData?: boolean | undefined;
}

const personalPointers = {
  name: '/supplier/driver/name',
  phone: '/supplier/driver/phone',
  imageUrl: '/supplier/driver/image_url',
};

/** The details in the object that holds the status; null when none of them is there. */
export function parseRideDetails(order: unknown, { keepsPersonalData = false }: Keeping = {}): RideDetails | null {
  const times = textsAt(order, {
    requestedAt: '/requested_at',
    scheduledAt: '/scheduled_at',
    willArriveAtPickup: '/will_arrive_at_pickup',
    pickedUpAt: '/pickedup_at',
    droppedOffAt: '/droppedoff_at',
  });
  const supplier = textsAt(order, { name: '/supplier/name', code: '/supplier/code' });
  const plate = keepsPersonalData ? textsAt(order, { licensePlate: '/supplier/driver/vehicle/license_plate' }) : {};
  const vehicle = { ...textsAt(order, { model: '/supplier/driver/vehicle/model' }), ...plate };
  const driver = keepsPersonalData ? textsAt(order, personalPointers) : {};
  const parts = Object.entries({ supplier, driver, vehicle }).filter(([, part]) => !isEmpty(part));
  const details: RideDetails = { ...times, ...Object.fromEntries(parts) };
  return isEmpty(details) ? null : details;
}
