import type { LiveOrder } from './orders.js';

/** One change of an order's status. */
export interface StatusChange {
  order: LiveOrder;
  status: string;
  previousStatus: string | undefined;
}

export interface AnnouncerPorts {
  orders(): Iterable<LiveOrder>;
  /** Does a subscriber want deliveries about this order? Called at each change, and by `update`. */
  isWanted(order: LiveOrder): boolean;
  countsFirstStatus(): boolean;
  announce(change: StatusChange): void;
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

/** Announces each status when an order takes it. Orders without subscribers have no timer. */
export function createOrderAnnouncer({ orders, isWanted, countsFirstStatus, announce }: AnnouncerPorts) {
  const watches = new Map<LiveOrder, Watch>();

  function look(order: LiveOrder, watch: Watch): void {
    const reached = reachedSteps(order, Date.now());
    while (watch.announced < reached) {
      const status = order.steps[watch.announced]?.status ?? '';
      const previousStatus = order.steps[watch.announced - 1]?.status;
      watch.announced += 1;
      announce({ order, status, previousStatus });
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
      else watch(order, isNew && countsFirstStatus() ? 0 : 1);
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
