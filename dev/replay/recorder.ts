import { defaultPayloadConverter } from '@temporalio/common';
import { type ActivateInput, proxySinks, type Sinks, type WorkflowInterceptorsFactory } from '@temporalio/workflow';
import type { Command } from './commands.js';

/** What the process learns of a run that is replayed. */
export interface ReplaySinks extends Sinks {
  replay: {
    /** The commands of one activation, as the SDK has them. */
    concluded(commands: Command[]): void;
    /** Mutants that the run has met since the last call; `early` those that no activation can switch on: in the code that loads it. */
    reached(mutants: string[], early: string[]): void;
  };
}

const { replay } = proxySinks<ReplaySinks>();

/** For mutations of this code: which one is on, and which were met since the last call. Only a bundle for mutations has it. */
interface Mutation {
  choose(mutant: string): void;
  takeReached(): string[];
}
const { mutation } = globalThis as { mutation?: Mutation };

const headersOf = ({ activation }: ActivateInput) =>
  activation.jobs?.find(({ initializeWorkflow }) => initializeWorkflow)?.initializeWorkflow?.headers;

/** Tells of what workflows do, and changes nothing of it. */
export const interceptors: WorkflowInterceptorsFactory = () => {
  const early = mutation?.takeReached() ?? []; // the interceptors of the workflows stand before these
  return {
    internals: [
      {
        activate(input, next) {
          const { mutant } = headersOf(input) ?? {};
          if (mutant) mutation?.choose(defaultPayloadConverter.fromPayload(mutant));
          next(input);
        },
        concludeActivation(input, next) {
          const output = next(input);
          replay.concluded([...output.commands] as unknown as Command[]);
          if (mutation) replay.reached(mutation.takeReached(), early.splice(0));
          return output;
        },
      },
    ],
  };
};
