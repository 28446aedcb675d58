import { workflowInfo } from '@temporalio/workflow';
import { type DeliveryNotice, readDeliveries } from '../domain/delivery.js';
import { deliveryReceivedSignal } from './messages.js';
import { setHandler } from './run-kit.js';

/** What deliveries ask of a run. Handlers write here; the main body decides. */
export interface DeliveryInbox {
  /** The number of requested reads; one read answers all earlier requests. */
  asked: number;
  served: number;
  /** Ids of deliveries already counted, newest last. */
  seenDeliveries: string[];
  /** Signals to this run: the server accepts 10,000 and gives no hint before. */
  signals: number;
}

/** What the next run needs when this one continues as new. */
export type CarriedDeliveries = Pick<DeliveryInbox, 'seenDeliveries'> & { readWanted: boolean };

/** The inbox of a new run, with what the previous run has not answered. */
export const openDeliveryInbox = (carried?: CarriedDeliveries): DeliveryInbox => ({
  asked: carried?.readWanted ? 1 : 0,
  served: 0,
  seenDeliveries: carried?.seenDeliveries ?? [],
  signals: 0,
});

/** For the run that continues this one. */
export const carryDeliveries = (inbox: DeliveryInbox): CarriedDeliveries => ({
  seenDeliveries: inbox.seenDeliveries,
  readWanted: isReadWanted(inbox),
});

/** Has the run still to make a requested read? */
export const isReadWanted = ({ asked, served }: Pick<DeliveryInbox, 'asked' | 'served'>): boolean => asked > served;

/** Receives deliveries: `record` keeps them, and each signal requests a read. Must run before the first await of the run. */
export const listenToDeliveries = (inbox: DeliveryInbox, record: (deliveries: DeliveryNotice[]) => void): void =>
  setHandler(deliveryReceivedSignal, (notice) => {
    inbox.signals += 1;
    record(readDeliveries(notice, new Date().toISOString()));
    // A duplicate requests a read too: two equal bodies may announce two changes, to a status and back to it.
    inbox.asked += 1;
  });

/** The server limits signals and gives no hint before. Signals without a handler count only as events. */
export const hasTooManySignals = (
  { signals }: DeliveryInbox,
  { maxEvents, maxSignals }: { maxEvents: number; maxSignals: number },
): boolean => signals >= maxSignals || workflowInfo().historyLength >= maxEvents + maxSignals;
