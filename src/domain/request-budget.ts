// How the requests per second of an account are divided. Together nine tenths: calls may reach the service a moment closer
// together than they were handed out.

/** What the server hands out from the account's task queue, as a share of its requests per second. */
export const queueShare = 0.8;

/** What all workers together may spend on reads at once, which do not pass that queue. */
export const atOnceShare = 0.1;

/** For so long a process saves its part of that share: the changes of a second come together. Milliseconds. */
export const atOnceSavedMs = 2_000;
