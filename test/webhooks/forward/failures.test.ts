import { afterEach, expect, it, vi } from 'vitest';
import { createFailureLog } from '../../../src/ingress-store.js';

afterEach(() => void vi.useRealTimers());

it('why deliveries are not forwarded is a warning once a minute, and the rest is for those who debug', () => {
  vi.useFakeTimers();
  const logger = { warn: vi.fn(), debug: vi.fn() };
  const tell = createFailureLog(logger);
  const tellAfter = (ms: number): void => {
    vi.advanceTimersByTime(ms);
    tell(new Error('the run takes no more'));
  };
  tellAfter(0);
  tellAfter(59_000);
  expect([logger.warn.mock.calls.length, logger.debug.mock.calls.length]).toEqual([1, 1]);
  tellAfter(1_000);
  expect([logger.warn.mock.calls.length, logger.debug.mock.calls.length]).toEqual([2, 1]);
  const message = expect.stringContaining('tried again');
  expect(logger.warn).toHaveBeenLastCalledWith(
    { err: expect.objectContaining({ message: 'the run takes no more' }) },
    message,
  );
});
