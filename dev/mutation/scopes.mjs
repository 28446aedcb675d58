/** What `npm run test:mutation -- <scope>` changes, and the tests that have to notice it. None of these needs a server. */
export const scopes = {
  domain: {
    mutate: ['src/domain/**/*.ts'],
    tests: ['test/{domain,contracts}/**/*.test.ts', 'test/activities/{call,order,token}/**/*.test.ts'],
  },
  workflows: { mutate: ['src/workflows/**/*.ts'], runner: 'replays' },
};
