// `npm run test:node -- 24` runs the tests on another line of Node, which npm's packages `node-<platform>-<arch>` hold. What follows the line
// goes to the test runner: `npm run test:node -- 26 --project unit`.
import { spawnSync } from 'node:child_process';

const [line = '', ...more] = process.argv.slice(2);
if (!/^\d+(\.\d+){0,2}$/.test(line)) {
  console.error('usage: npm run test:node -- <line of Node, such as 24> [options of vitest]');
  process.exit(2);
}
const { platform, arch } = process;
const program = `node-${platform === 'win32' ? 'win' : platform}-${arch}@${line}`;
const words = ['exec', '--yes', `--package=${program}`, '--', 'npm', 'test', '--', ...more];
const { status } = spawnSync('npm', words, { stdio: 'inherit' });
process.exit(status ?? 1);
