import { setHandler, workflowInfo } from '@temporalio/workflow';
import { type DeliveryNotice, readDeliveries } from '../domain/delivery.js';
import { deliveryReceivedSignal } from './messages.js';

/** What deliveries ask of a run. Handlers write here and return; the main body decides. */
export interface DeliveryInbox {
  /** Reads asked for so far; a read serves all that were asked for before it. */
  asked: number;
  served: number;
  /** Ids of deliveries already counted, newest last. */
  seenDeliveries: string[];
  /** Signals taken by this run: the server counts to 10,000 and never hints at it. */
  signals: number;
}

/** What of it outlives a run that continues as new. */
export type CarriedDeliveries = Pick<DeliveryInbox, 'seenDeliveries'> & { readWanted: boolean };

/** The inbox of a new run, with what the run before it had not answered. */
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

/** Was a read asked for that no read has served? */
export const isReadWanted = ({ asked, served }: Pick<DeliveryInbox, 'asked' | 'served'>): boolean => asked > served;

/** Takes deliveries; each signal asks for a read. `record` keeps them. Must run before the first await of the run. */
export const listenToDeliveries = (inbox: DeliveryInbox, record: (deliveries: DeliveryNotice[]) => void): void =>
  setHandler(deliveryReceivedSignal, (notice) => {
    inbox.signals += 1;
    record(readDeliveries(notice, new Date().toISOString()));
    // A duplicate asks for a read too: two equal bodies may tell of two changes, to a status and back to it.
    inbox.asked += 1;
  });

/** The server refuses signals beyond a number that it never hints at. Those without a handler are events all the same. */
export const hasTooManySignals = (
  { signals }: DeliveryInbox,
  { maxEvents, maxSignals }: { maxEvents: number; maxSignals: number },
): boolean => signals >= maxSignals || workflowInfo().historyLength >= maxEvents + maxSignals;
