/**
 * How long to wait for what comes by another way, for `vi.waitFor`: that works outside of tests and in tests that run
 * side by side, where `expect.poll` does not know which test it belongs to.
 */
export const patient = { timeout: 30_000, interval: 50 } as const;
