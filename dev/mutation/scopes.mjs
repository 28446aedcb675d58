/** What `npm run test:mutation -- <scope>` changes, and the tests that have to notice it. None of these needs a server, or much time. */
export const scopes = {
  domain: {
    mutate: ['src/domain/**/*.ts'],
    tests: [
      'test/domain/**/*.test.ts',
      'test/contracts/!(json|body-shape).test.ts',
      'test/activities/{call,order,token}/!(*-model).test.ts',
    ],
  },
  workflows: { mutate: ['src/workflows/**/*.ts'], runner: 'replays' },
};
