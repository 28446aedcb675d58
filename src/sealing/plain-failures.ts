import { ContainedFailureConverter } from './contained-failures.js';

/** Messages and stacks of failures in clear. Loaded as `encoded-failures.ts` is, by workers that do not encrypt. */
export const failureConverter = new ContainedFailureConverter();
