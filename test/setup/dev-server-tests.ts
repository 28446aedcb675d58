const hasItsOwn = 'starts, and mostly stops, a development server of its own';
const readsItsFile = 'looks for secrets in the database file of a development server';

/** Tests that would not meet a server that was given, with the reason. They are left out where one is. */
export const devServerTests: Readonly<Record<string, string>> = {
  'test/e2e/subscription/resets.test.ts': hasItsOwn,
  'test/e2e/worker/temporal-outage.test.ts': hasItsOwn,
  'test/dev/stack/servers/dev-server.test.ts': hasItsOwn,
  'test/processes/caller-trace.test.ts': hasItsOwn,
  'test/processes/deliveries.test.ts': hasItsOwn,
  'test/processes/encrypted-pages.test.ts': hasItsOwn,
  'test/processes/encrypted-payloads.test.ts': readsItsFile,
  'test/processes/ingress-kills.test.ts': hasItsOwn,
  'test/processes/leaked-address.test.ts': hasItsOwn,
  'test/processes/observability.test.ts': hasItsOwn,
  'test/processes/partitions.test.ts': hasItsOwn,
  'test/processes/secrets.test.ts': readsItsFile,
  'test/processes/stops.test.ts': hasItsOwn,
  'test/processes/watch-outage.test.ts': hasItsOwn,
};
