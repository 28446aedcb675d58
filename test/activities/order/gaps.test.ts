import { describe, expect, it } from 'vitest';
import { createLookStage, iso, lookAt, readingOf, start } from '../attempts.js';

const second = 1_000;

/** The second attempt finds a change, `lateMs` after it was due. */
async function secondAttempt(lateMs: number, heartbeatDetails?: unknown) {
  const stage = createLookStage();
  const dueAt = start + 60 * second;
  stage.now = dueAt + lateMs;
  stage.answers = [readingOf('Driving')];
  const info = { attempt: 2, currentAttemptScheduledTimestampMs: dueAt, heartbeatDetails };
  return (await stage.attempt('observeOrder', lookAt(), info)).seen;
}

describe('a poll that finds a change', () => {
  it('tells for how long nobody had looked: its pause, and the wait for its turn', async () => {
    expect(await secondAttempt(3 * second)).toMatchObject({ kind: 'reading', gapMs: 13 * second });
  });

  it('counts trouble in between', async () => {
    const trouble = { code: 'upstreamUnavailable', message: '', failures: 2, notBefore: iso(start) };
    const seen = await secondAttempt(0, { ...trouble, since: iso(start + 20 * second) });
    expect(seen).toMatchObject({ kind: 'reading', gapMs: 50 * second });
  });

  it('tells nothing when it is the first to look', async () => {
    const stage = createLookStage();
    stage.answers = [readingOf('Driving')];
    expect((await stage.attempt('observeOrder', lookAt())).seen).not.toHaveProperty('gapMs');
  });
});
