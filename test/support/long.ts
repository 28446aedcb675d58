/** Long variants of tests run on demand: `FARETRAIL_TEST_LONG=true npx vitest run <file>`. */
export const isLong = process.env.FARETRAIL_TEST_LONG === 'true';
