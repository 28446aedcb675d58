import { setTimeout as sleep } from 'node:timers/promises';
import { defaultContractProfile } from '../../../src/contracts/default-contract-profile.js';
import { toAccountName } from '../../../src/domain/keys.js';
import { createBodyReader } from '../../../src/webhooks/body-reader.js';
import { readRawDelivery } from '../../../src/webhooks/raw-delivery.js';
import type { SandboxControl } from '../../sandbox/control/client.js';
import type { DeliveryMessage } from '../../sandbox/delivery/writer.js';
import { type Forgery, openForgeries, type Posted, post } from './forgery.js';
import { anchorIds } from './plan-work.js';

const forgedFlaws = ['wrongSecret', 'unsigned', 'otherBody'] as const;

/** One delivery without a valid signature. */
export interface Forged extends Posted {
  /** An order that does not exist, or an anchor. */
  orderId: string;
  isInvented: boolean;
  /** `otherBody`: it has the signature of another delivery. */
  flaw: (typeof forgedFlaws)[number];
  /** The id under which an ingress would accept it. */
  deliveryId: string;
  /** The generation of the address that it was sent to. */
  generation: string;
}

/** A stranger who knows the addresses of the subscription, but no secret. */
export interface Forger {
  /** Sends one delivery after the other until `stop`. */
  begin(): void;
  /** Resolves once all have been answered. */
  stop(): Promise<void>;
  /** Sends more deliveries until one is refused, for at most half a minute. */
  knock(): Promise<void>;
  sent: readonly Forged[];
}

const everyMs = 500;
/** While no process answers, so that a new process receives forged deliveries before genuine ones. */
const eagerlyMs = 100;
const knocksForMs = 30_000;
/** Delay until the forger learns about a new address. */
const refreshEveryMs = 500;
/** Anchors are never cancelled, so a run that believed this word would end. */
const falseStatus = 'Cancelled';

export function createForger(sandbox: SandboxControl): Forger {
  const sent: Forged[] = [];
  const answers: Promise<Forged>[] = [];
  let forgery: Forgery | null = null;
  let isOver = false;

  async function refresh(): Promise<void> {
    while (!isOver) {
      forgery = (await openForgeries(sandbox).catch(() => null)) ?? forgery;
      await sleep(refreshEveryMs);
    }
  }

  async function sendOne(from: Forgery): Promise<Forged> {
    const { message, forged } = forge(from, sent.length);
    sent.push(forged);
    return Object.assign(forged, await post(message));
  }

  async function send(): Promise<void> {
    while (!isOver) {
      if (!forgery) {
        await sleep(everyMs);
        continue;
      }
      const forged = sendOne(forgery);
      answers.push(forged);
      const pause = forged.then(({ answer }) => sleep(answer === null ? eagerlyMs : everyMs));
      await Promise.race([sleep(everyMs), pause]);
    }
  }

  return {
    begin() {
      void refresh();
      void send();
    },
    async stop() {
      isOver = true;
      await Promise.all(answers);
    },
    async knock() {
      const newest = await openForgeries(sandbox);
      for (const until = Date.now() + knocksForMs; newest && Date.now() < until; await sleep(everyMs))
        if ((await sendOne(newest)).answer === 401) return;
    },
    sent,
  };
}

/** Alternates between flaws, between invented orders and anchors, and between the newest address and older ones. */
function forge({ subscribers, write }: Forgery, n: number): { message: DeliveryMessage; forged: Forged } {
  const flaw = forgedFlaws[n % forgedFlaws.length] ?? 'unsigned';
  const round = Math.floor(n / forgedFlaws.length);
  const isInvented = round % 2 === 0;
  const orderId = isInvented ? `forged-${n}` : (anchorIds[Math.floor(round / 2) % anchorIds.length] ?? '');
  const older = Math.floor(round / 2) % 3 === 2 ? subscribers[round % subscribers.length] : undefined;
  const subscriber = older ?? (subscribers.at(-1) as (typeof subscribers)[number]);
  const tidings = { eventType: 'status_changed', orderId, status: isInvented ? 'Driving' : falseStatus } as const;
  const right = write(subscriber, { ...tidings, status: 'Driving' });
  const message =
    flaw === 'otherBody' ? { ...write(subscriber, tidings), headers: right.headers } : write(subscriber, tidings, flaw);
  const posted: Posted = { at: Date.now(), ms: 0, answer: null, saysWhen: false };
  const generation = generationOf(subscriber.hookAddress);
  return {
    message,
    forged: { ...posted, orderId, isInvented, flaw, deliveryId: idOf(message, generation), generation },
  };
}

/** An address ends with `<generation>.<mac>`. */
const generationOf = (hookAddress: string): string => /([0-9a-z]+)\.[^./]+$/.exec(hookAddress)?.[1] ?? '';

const readBody = createBodyReader(defaultContractProfile);
const account = toAccountName('business');

function idOf({ body, headers }: DeliveryMessage, generation: string): string {
  const raw = readRawDelivery({ headers, rawBody: body }, body);
  if (!raw) throw new Error('a forged delivery has no JSON body');
  return readBody({ account, eventType: 'status_changed', generation, arrivedAt: Date.now() }, raw).delivery.deliveryId;
}
