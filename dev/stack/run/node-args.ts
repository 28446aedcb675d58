import { join } from 'node:path';
import { projectRoot } from '../temporal/project-root.js';

/** Flags of Node, each with its reason in docs/decisions/06-temporal-in-a-thread.md. */
export const nodeFlags = { worker: [], ingress: ['--single-threaded-gc'], desk: [] } as const satisfies Record<
  string,
  string[]
>;

/** The arguments with which Node starts a process of a deployment, as npm and the image do. Needs a compiled checkout. */
export const nodeArgs = (name: keyof typeof nodeFlags, checkout = projectRoot): string[] => [
  ...nodeFlags[name],
  join(checkout, `dist/src/${name}.js`),
];
