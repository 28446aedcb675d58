import type { Execution, Timer } from './execution.js';
import { longOf } from './history.js';
import type { Namespace } from './namespace.js';
import { tell } from './scheduling.js';

/** Starts a timer. The caller has written its event. */
export function startTimer(namespace: Namespace, execution: Execution, timer: Timer, ms: number): void {
  execution.timers.set(timer.id, timer);
  namespace.scheduler.after(ms, () => {
    if (!execution.isOpen || execution.timers.get(timer.id) !== timer) return;
    execution.timers.delete(timer.id);
    tell(namespace, execution, 'timerFired', { timerId: timer.id, startedEventId: longOf(timer.startedId) });
  });
}
