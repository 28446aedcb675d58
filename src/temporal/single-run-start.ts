/** What a run is started with. */
interface Start<Input> {
  workflowId: string;
  taskQueue: string;
  input: Input;
  summary: string;
}

/**
 * Options of a client that starts a run which there may be once only: whoever starts it again gets the one that goes on, or
 * learns that it has ended, and there is never a second run of its id.
 */
export const singleRunStart = <Input>({ workflowId, taskQueue, input, summary }: Start<Input>) => ({
  workflowId,
  taskQueue,
  args: [input] as [Input],
  workflowIdReusePolicy: 'REJECT_DUPLICATE' as const,
  workflowIdConflictPolicy: 'USE_EXISTING' as const,
  staticSummary: summary,
});
