import { monotonicMs } from '../clock.js';

/**
 * What a look has found, for all who ask within `ms` of each other; a failure is shared as well. For `staleMs` more the last answer is given at
 * once, while a new look is under way.
 */
export function createShared<T>(ms: number, look: (key: string) => Promise<T>, staleMs = 0) {
  const kept = new Map<string, { at: number; answer: Promise<T>; isRenewed?: boolean }>();
  const begin = (key: string): Promise<T> => {
    const answer = look(key);
    const keep = () => kept.set(key, { at: monotonicMs(), answer });
    if (kept.has(key)) answer.then(keep, keep);
    else keep();
    answer.catch(() => undefined); // whoever asks learns of it
    return answer;
  };
  const shared = (key: string): Promise<T> => {
    const now = monotonicMs();
    for (const [one, { at }] of kept) if (at + ms + staleMs <= now) kept.delete(one);
    const found = kept.get(key);
    if (!found) return begin(key);
    if (found.at + ms > now || found.isRenewed) return found.answer;
    found.isRenewed = true;
    void begin(key).catch(() => undefined);
    return found.answer;
  };
  return Object.assign(shared, { forget: () => kept.clear() });
}
