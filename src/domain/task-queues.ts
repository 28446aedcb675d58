// Names of task queues, each made from the main one: `FARETRAIL_TASK_QUEUE`, which takes all workflows. The name of an account holds no dot.

/** The main queue unless the installation names another one. */
export const defaultTaskQueue = 'faretrail';

/** What the queue of an account hands out of its requests per second: calls may reach the service a moment closer together. */
export const budgetShare = 0.9;

/** For the calls and the token requests of an account, which only workers with its credentials take. Its rate limit is the account's request budget. */
export const accountQueueOf = (main: string, account: string): string => `${main}.${account}`;

/** Polled only by the process that holds the watch of the account, so that runs reach it. A task waits here while no process does. */
export const watchQueueOf = (main: string, account: string): string => `${accountQueueOf(main, account)}.watch`;
