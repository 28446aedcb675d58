import { proxySinks, type Sinks, type WorkflowInterceptorsFactory } from '@temporalio/workflow';

/** What the process learns of a run that is replayed. */
export interface ReplaySinks extends Sinks {
  replay: {
    /** The commands of one activation, as the SDK has them. */
    concluded(commands: object[]): void;
    /** Mutants that the run has reached since the last call; nothing without mutants. */
    reached(mutants: string[]): void;
  };
}

const { replay } = proxySinks<ReplaySinks>();

/** Tells of what workflows do, and changes nothing of it. */
export const interceptors: WorkflowInterceptorsFactory = () => ({
  internals: [
    {
      concludeActivation(input, next) {
        const output = next(input);
        replay.concluded([...output.commands]);
        const { takeReached } = globalThis as { takeReached?: () => string[] };
        if (takeReached) replay.reached(takeReached());
        return output;
      },
    },
  ],
});
