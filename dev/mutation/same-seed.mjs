import fc from 'fast-check';

// The same values in each run, so that scores compare; few of them, for what a property finds only now and then is not held by it.
fc.configureGlobal({ seed: 1, numRuns: 20 });
