import type { Scheduler } from '../clock/scheduler.js';
import type { Execution } from './execution.js';
import { grpcError } from './grpc.js';
import { Matching } from './matching.js';

/** How long things take that the server does by itself, in milliseconds. */
export type Latencies = (what: 'match' | 'transfer') => number;

/** The runs of one namespace, and what they share. */
export class Namespace {
  readonly scheduler: Scheduler;
  readonly matching: Matching;
  readonly latencyMs: Latencies;
  readonly #runs = new Map<string, Execution[]>();
  readonly #counts = new Map<string, number>();
  readonly #watchers: ((execution: Execution) => void)[] = [];
  #numbers = 0;

  constructor(scheduler: Scheduler, latencyMs: Latencies) {
    this.scheduler = scheduler;
    this.latencyMs = latencyMs;
    this.matching = new Matching(scheduler, () => latencyMs('match'));
  }

  /** How often a rule of the server has been met. */
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

  onClose(watcher: (execution: Execution) => void): void {
    this.#watchers.push(watcher);
  }

  closed(execution: Execution): void {
    for (const watcher of this.#watchers) watcher(execution);
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
