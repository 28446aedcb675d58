import type { LiveOrder } from './orders.js';

export interface AnnouncerPorts {
  orders(): Iterable<LiveOrder>;
  /** Does a subscriber want deliveries about this order? Called at each change, and by `update`. */
  isWanted(order: LiveOrder): boolean;
  announce(order: LiveOrder, status: string): void;
}

interface Watch {
  /** How many steps of the order were announced or skipped. Past steps never change. */
  announced: number;
  timer?: NodeJS.Timeout | undefined;
}

const longestTimerMs = 2_147_483_647; // the limit of setTimeout

const reachedSteps = ({ steps }: LiveOrder, now: number): number => {
  const next = steps.findIndex((step) => step.at > now);
  return next < 0 ? steps.length : next;
};

/** Announces each status when an order takes it, that of a new order included. Orders without subscribers have no timer. */
export function createOrderAnnouncer({ orders, isWanted, announce }: AnnouncerPorts) {
  const watches = new Map<LiveOrder, Watch>();

  function look(order: LiveOrder, watch: Watch): void {
    const reached = reachedSteps(order, Date.now());
    while (watch.announced < reached) {
      const status = order.steps[watch.announced]?.status ?? '';
      watch.announced += 1;
      announce(order, status);
    }
    clearTimeout(watch.timer);
    const next = order.steps[watch.announced];
    if (!next) return;
    const waitMs = Math.min(Math.max(1, next.at - Date.now()), longestTimerMs);
    watch.timer = setTimeout(() => look(order, watch), waitMs).unref();
  }

  function watch(order: LiveOrder, announced: number): void {
    const opened: Watch = { announced };
    watches.set(order, opened);
    look(order, opened);
  }

  function forget(order: LiveOrder): void {
    clearTimeout(watches.get(order)?.timer);
    watches.delete(order);
  }

  return {
    stepsChanged(order: LiveOrder, isNew: boolean): void {
      if (!isWanted(order)) return;
      const known = watches.get(order);
      if (known) look(order, known);
      else watch(order, isNew ? 0 : 1);
    },
    /** Call it when the answer of `isWanted` may have changed. It does not announce earlier statuses. */
    update(): void {
      for (const order of orders()) {
        if (!isWanted(order)) forget(order);
        else if (!watches.has(order)) watch(order, reachedSteps(order, Date.now()));
      }
    },
    close(): void {
      for (const order of [...watches.keys()]) forget(order);
    },
  };
}
