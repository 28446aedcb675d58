import 'vitest';

declare module 'vitest' {
  /** What the global set-up hands to the tests that need servers: `inject('temporalAddress')`. */
  export interface ProvidedContext {
    /** `host:port` of the server of this run, a development server if no other was given; its namespace is `default`. */
    temporalAddress: string;
    /** Of the development server; missing where another one was given. */
    temporalDatabaseFile: string;
    /** For a test that needs a server of its own: `startDevServer({ program: inject('temporalProgram'), ... })`. */
    temporalProgram: string;
    /** For `createTimeSkipping({ server: { executable: { type: 'existing-path', path } } })`. */
    timeSkippingServerPath: string;
    /** For `workflowBundle: { codePath }` of a worker. */
    workflowBundlePath: string;
  }
}
