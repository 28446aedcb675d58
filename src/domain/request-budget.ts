// How the requests per second of an account are divided. Together nine tenths: calls may reach the service a moment closer
// together than they were handed out.

/** Shares of the requests per second of an account. */
interface BudgetShares {
  /** What the server hands out from the account's task queue. */
  queue: number;
  /** What all workers together may spend on reads at once, which do not pass that queue. */
  atOnce: number;
}

/** Where the service can announce changes, most reads answer deliveries; elsewhere only the first of an order is made at once. */
export const budgetShares = ({ announcesChanges }: { announcesChanges: boolean }): BudgetShares =>
  announcesChanges ? { queue: 0.6, atOnce: 0.3 } : { queue: 0.8, atOnce: 0.1 };

/** For so long a process saves its part of the reads at once: the changes of a second come together. Milliseconds. */
export const atOnceSavedMs = 2_000;
