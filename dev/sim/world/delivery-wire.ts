// Carries deliveries to the ingress, those of the service and those of strangers.
import type { IntakeAnswer } from '../../../src/webhooks/intake.js';
import { statusOf } from '../../../src/webhooks/problems.js';
import type { DeliveryOutcome } from '../../sandbox/delivery/sender.js';
import type { DeliveryMessage } from '../../sandbox/delivery/writer.js';
import type { Process } from '../clock/process.js';
import type { Scheduler } from '../clock/scheduler.js';
import type { Ingress } from './ingress.js';

/** A delivery that the ingress has answered. */
export interface AnsweredDelivery extends IntakeAnswer {
  /** When the answer was made, in milliseconds since the epoch. */
  at: number;
  from: Sender;
  url: string;
}

export type Sender = 'service' | 'stranger';

export interface DeliveryWire {
  /** Oldest first. */
  answered: readonly AnsweredDelivery[];
  /** Sends from a process. Never rejects. */
  send: (
    process: Process,
    message: DeliveryMessage,
    about: { from: Sender; timeoutMs: number },
  ) => Promise<DeliveryOutcome>;
}

export interface DeliveryWireParts {
  scheduler: Scheduler;
  ingress: () => Ingress;
  latencyMs: () => number;
}

export function createDeliveryWire({ scheduler, ingress, latencyMs }: DeliveryWireParts): DeliveryWire {
  const answered: AnsweredDelivery[] = [];
  return {
    answered,
    send(process, message, { from, timeoutMs }) {
      const sentAt = scheduler.now;
      const ms = (): number => scheduler.now - sentAt;
      return new Promise((resolve) => {
        process.after(timeoutMs, () => resolve({ answer: null, failure: 'TIMEOUT', ms: ms() }));
        process.after(latencyMs(), () => {
          if (!ingress().isUp) resolve({ answer: null, failure: 'ECONNREFUSED', ms: ms() });
          ingress().request(message, (answer) => {
            const { outcome, deliveryId } = answer;
            answered.push({ ...answer, at: scheduler.now, from, url: message.url });
            const told = deliveryId === undefined ? {} : { acknowledgedAs: deliveryId };
            process.after(latencyMs(), () => resolve({ answer: statusOf(outcome), ...told, ms: ms() }));
          });
        });
      });
    },
  };
}
