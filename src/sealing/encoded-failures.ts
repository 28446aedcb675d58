import { createFailureConverter } from './plain-failures.js';

/**
 * Puts messages and stacks of failures into payloads, which a codec then encrypts; only their types stay in clear. Loaded
 * by its path and under this name: by the SDK in the threads of a worker, and into the bundle of the workflows.
 */
export const failureConverter = createFailureConverter({ encodeCommonAttributes: true });
