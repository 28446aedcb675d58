/**
 * How long to wait for what comes by another way, for `vi.waitFor`: that works outside of tests and in tests that run
 * side by side, where `expect.poll` does not know which test it belongs to. Longer than 30 s: a call whose task a busy
 * server lost is missed after its start-to-close time-out of 30 s, and made again then. Each look costs the server a call, often a workflow task.
 */
export const patient = { timeout: 180_000, interval: 150 } as const;
