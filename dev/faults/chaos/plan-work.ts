import type { RideInterface } from '../../../src/domain/account.js';
import type { Draw } from './draw.js';
import { type StrangeMessage, type StrangePayload, strangePayloads } from './strange-messages.js';

/** One piece of work for a caller. Times count from the start of the faults, scripts are in real milliseconds. */
export type PlannedWork = { atMs: number } & (
  | {
      kind: 'follow';
      at: RideInterface;
      orderId: string;
      script: { status: string; afterMs: number }[];
      /** Is its run first started with an unknown field? */
      isMisspelt: boolean;
      /** Do both receivers get notices? */
      isTold: boolean;
    }
  | { kind: 'ride'; requestId: string; wish: 'letGo' | 'cancel' | 'change'; afterMs: number }
  | { kind: 'call'; key: string; operation: 'products' | 'companySettings' | 'addReferenceCode' | 'createOrder' }
  | { kind: 'refresh'; at: RideInterface; orderId: string }
  | { kind: 'deliver'; orderIds: string[]; count: number }
  | { kind: 'rotate' }
  | { kind: 'message'; message: StrangeMessage }
);

/** Orders that last as long as the faults. Each delivery about them must reach a run. */
export const anchorIds: readonly string[] = Array.from({ length: 10 }, (_, i) => `anchor-${i}`);

const courses = [
  ['Pending', 'Routing', 'Confirmed', 'Waiting', 'Driving', 'Completed'],
  ['Pending', 'Routing', 'Confirmed', 'Driving', 'CareReq', 'Driving', 'Completed'],
  ['Reserved', 'Routing', 'Confirmed', 'Cancelled'],
  ['Pending', 'Routing', 'Rejected'],
  ['Pending', 'ActiveOrder', 'Completed'],
  ['Pending', 'Routing', 'DriverSwapped', 'Driving', 'Completed'],
] as const;

const stepMs = { least: 200, most: 6_000 };
/** Only a scheduled ride can change, and it lasts a minute. */
const anyCourse = ['letGo', 'cancel', 'change'] as const;
const shortCourse = ['letGo', 'cancel'] as const;
const scheduledLifeMs = 20_000;
const rotateEveryMs = 90_000;

/** `rarer`: each kind of work comes so many times more rarely than in ten minutes of faults. */
interface Amount {
  seed: number;
  forMs: number;
  rarer?: number;
}

/** All work of the suite, in the order of its start. */
export function plannedWork(draw: Draw, { seed, forMs, rarer = 1 }: Amount): PlannedWork[] {
  const instants = (everyMs: number): number[] => draw.instants(everyMs * rarer, forMs);
  const each = (everyMs: number, make: (name: string, atMs: number) => PlannedWork): PlannedWork[] =>
    instants(everyMs).map((atMs, i) => make(`${seed}-${i}`, atMs));
  const follows = each(1_200, (name, atMs) => followOne(draw, name, atMs));
  const rides = each(2_500, (name, atMs) => rideOne(draw, name, { atMs, forMs }));
  return [
    ...follows,
    ...instants(3_000).flatMap((atMs) => refreshOne(draw, follows, atMs)),
    ...rides,
    ...each(4_000, (name, atMs) => ({
      ...{ atMs, kind: 'call', key: `call-${name}` },
      operation: draw.oneOf(['products', 'companySettings', 'addReferenceCode', 'createOrder'] as const),
    })),
    ...each(1_500, (_, atMs) => {
      const orderIds = anchorIds.filter(() => draw.chance(0.5));
      return {
        atMs,
        kind: 'deliver',
        orderIds: orderIds.length > 0 ? orderIds : [...anchorIds],
        count: draw.between(1, 4),
      };
    }),
    ...instants(2_000).flatMap((atMs) => messageTo(draw, [...follows, ...rides], atMs)),
    ...rotations(forMs),
  ].sort((a, b) => a.atMs - b.atMs);
}

function followOne(draw: Draw, name: string, atMs: number): PlannedWork {
  let afterMs = 0;
  const script = draw.oneOf(courses).map((status, i) => {
    if (i > 0) afterMs += draw.between(stepMs.least, stepMs.most);
    return { status, afterMs };
  });
  const isMisspelt = draw.chance(0.1);
  return {
    atMs,
    kind: 'follow',
    at: draw.oneOf(['partner', 'business']),
    orderId: `order-${name}`,
    script,
    isMisspelt,
    isTold: draw.chance(0.5),
  };
}

/** Messages that no run can read, to one of the newest orders and rides, to an anchor, or to a shared run. */
function messageTo(draw: Draw, asked: readonly PlannedWork[], atMs: number): PlannedWork[] {
  const payload = draw.oneOf(Object.keys(strangePayloads) as StrangePayload[]);
  const begun = asked.filter((one) => one.atMs < atMs);
  const followed = begun.flatMap((one) => (one.kind === 'follow' && one.at === 'business' ? [one.orderId] : []));
  const requested = begun.flatMap((one) => (one.kind === 'ride' ? [one.requestId] : []));
  const orderId = draw.oneOf([...followed.slice(-10), ...anchorIds]);
  const requestId = draw.oneOf(['ride-of-nobody', ...requested.slice(-5)]);
  const signal = draw.oneOf(['deliveryReceived', 'followRequested', 'unheardOf'] as const);
  const message: StrangeMessage = draw.oneOf<StrangeMessage>([
    { payload, to: 'order', orderId, signal },
    { payload, to: 'order', orderId, signal },
    { payload, to: 'ride', requestId, signal: draw.oneOf(['rideOrderChanged', 'unheardOf']) },
    { payload, to: 'token', signal: draw.oneOf(['renewToken', 'unheardOf']) },
    { payload, to: 'subscription', signal: 'unheardOf' },
  ]);
  return [{ atMs, kind: 'message', message }];
}

function rideOne(draw: Draw, name: string, { atMs, forMs }: { atMs: number; forMs: number }): PlannedWork {
  const wish = draw.oneOf(atMs < forMs - scheduledLifeMs ? anyCourse : shortCourse);
  return { atMs, kind: 'ride', requestId: `ride-${name}`, wish, afterMs: draw.between(0, 8_000) };
}

/** One of the newest followed orders, most of which have not ended. */
function refreshOne(draw: Draw, follows: readonly PlannedWork[], atMs: number): PlannedWork[] {
  const some = follows.filter((one) => one.kind === 'follow' && one.atMs < atMs).slice(-20);
  const one = some.length > 0 ? draw.oneOf(some) : undefined;
  return one?.kind === 'follow' ? [{ atMs, kind: 'refresh', at: one.at, orderId: one.orderId }] : [];
}

/** At least one, even in a short run. */
const rotations = (forMs: number): PlannedWork[] =>
  Array.from({ length: Math.ceil(forMs / rotateEveryMs) }, (_, i) => ({
    atMs: Math.round((i + 0.4) * Math.min(forMs, rotateEveryMs)),
    kind: 'rotate',
  }));
