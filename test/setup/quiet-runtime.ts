import { quietRuntime } from '../support/worker/runtime.js';

// Before a test logs something: the SDK has one runtime in a process, which begins with its first log line.
quietRuntime();
