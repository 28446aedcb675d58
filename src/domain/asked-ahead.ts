/** What a worker answers to a question that came with events which no workflow task has brought yet. */
export const askedAhead = 'Something has just happened to this run; ask again.';
