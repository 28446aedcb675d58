import type { Scheduler } from '../clock/scheduler.js';
import type { Execution } from './execution.js';
import { grpcError } from './grpc.js';
import { Matching } from './matching.js';

/** Milliseconds that the server takes for its own work. */
export type Latencies = (what: 'match' | 'transfer') => number;

/** The runs of one namespace, with their task queues and counters. */
export class Namespace {
  readonly scheduler: Scheduler;
  readonly matching: Matching;
  readonly latencyMs: Latencies;
  readonly #runs = new Map<string, Execution[]>();
  readonly #counts = new Map<string, number>();
  readonly #watchers = new Map<Execution, (() => void)[]>();
  #numbers = 0;

  constructor(scheduler: Scheduler, latencyMs: Latencies) {
    this.scheduler = scheduler;
    this.latencyMs = latencyMs;
    this.matching = new Matching(scheduler, () => latencyMs('match'));
  }

  /** How often each rule of the server has applied. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  count(what: string): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
  }

  nextNumber(): number {
    this.#numbers += 1;
    return this.#numbers;
  }

  newRunId(): string {
    const number = this.nextNumber().toString(16).padStart(12, '0');
    return `00000000-0000-4000-8000-${number}`;
  }

  add(execution: Execution): void {
    const runs = this.#runs.get(execution.workflowId) ?? [];
    this.#runs.set(execution.workflowId, [...runs, execution]);
  }

  /** Resolves when the run closes. */
  closing(execution: Execution): Promise<void> {
    return new Promise((resolve) => {
      this.#watchers.set(execution, [...(this.#watchers.get(execution) ?? []), resolve]);
    });
  }

  closed(execution: Execution): void {
    for (const tell of this.#watchers.get(execution) ?? []) tell();
    this.#watchers.delete(execution);
  }

  /** Runs of this id, oldest first. */
  runsOf(workflowId: string): readonly Execution[] {
    return this.#runs.get(workflowId) ?? [];
  }

  all(): Execution[] {
    return [...this.#runs.values()].flat();
  }

  newest(workflowId: string): Execution | undefined {
    return this.#runs.get(workflowId)?.at(-1);
  }

  openRun(workflowId: string): Execution | undefined {
    const newest = this.newest(workflowId);
    return newest?.isOpen ? newest : undefined;
  }

  /** Throws NOT_FOUND. */
  find(workflowId: string, runId = ''): Execution {
    const found = runId === '' ? this.newest(workflowId) : this.runsOf(workflowId).find((run) => run.runId === runId);
    if (!found) throw grpcError('NOT_FOUND', `workflow not found for ID: ${workflowId}`);
    return found;
  }

  /** Throws NOT_FOUND when the run has ended. */
  findOpen(workflowId: string, runId = ''): Execution {
    const found = this.find(workflowId, runId);
    if (!found.isOpen) throw grpcError('NOT_FOUND', 'workflow execution already completed');
    return found;
  }
}
