import { AsyncLocalStorage } from 'node:async_hooks';
import { ActivityFailure, CancelledFailure } from '@temporalio/common';

const scopes = new AsyncLocalStorage<CancellationScope>();

interface ScopeOptions {
  cancellable?: boolean;
  parent?: CancellationScope | null;
}

/** Works like the SDK's class of this name. */
export class CancellationScope {
  readonly cancellable: boolean;
  readonly cancelRequested: Promise<never>;
  #isRequested = false;
  #reject: (error: unknown) => void = () => undefined;

  constructor({ cancellable = true, parent = CancellationScope.current() }: ScopeOptions = {}) {
    this.cancellable = cancellable;
    this.cancelRequested = new Promise<never>((_, reject) => {
      this.#reject = (error) => {
        this.#isRequested = true;
        reject(error);
      };
    });
    this.cancelRequested.catch(() => undefined);
    if (!parent) return;
    if (parent.cancellable) this.#isRequested = parent.#isRequested;
    parent.cancelRequested.catch((error) => {
      if (parent.cancellable) this.#reject(error);
    });
  }

  get consideredCancelled(): boolean {
    return this.#isRequested && this.cancellable;
  }

  run<T>(fn: () => Promise<T>): Promise<T> {
    return scopes.run(this, async () => await fn());
  }

  /** Runs synchronous code within the scope. */
  enter<T>(fn: () => T): T {
    return scopes.run(this, fn);
  }

  cancel(message = 'Cancellation scope cancelled'): void {
    this.#reject(new CancelledFailure(message));
  }

  /** There is always one within a run, because each activation enters the run's root scope. */
  static current(): CancellationScope {
    const scope = scopes.getStore();
    if (!scope) throw new Error('not within a run');
    return scope;
  }

  static cancellable<T>(fn: () => Promise<T>): Promise<T> {
    return new CancellationScope().run(fn);
  }

  static nonCancellable<T>(fn: () => Promise<T>): Promise<T> {
    return new CancellationScope({ cancellable: false }).run(fn);
  }
}

export const isCancellation = (error: unknown): boolean =>
  error instanceof CancelledFailure || (error instanceof ActivityFailure && error.cause instanceof CancelledFailure);
