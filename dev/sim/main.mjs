// npm run sim: bundles the simulation with its stand-ins, and runs it.
import { isBuiltin } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';
import { standIns } from './stand-ins.mjs';

const standInFor = (id) => standIns.find(({ find }) => (typeof find === 'string' ? find === id : find.test(id)));

const putStandIns = { name: 'stand-ins', resolveId: (id) => standInFor(id)?.replacement ?? null };

const file = fileURLToPath(new URL('../../dist/sim/main.mjs', import.meta.url));
const build = await rolldown({
  input: fileURLToPath(new URL('main.ts', import.meta.url)),
  platform: 'node',
  resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
  plugins: [putStandIns],
  external: (id) => !standInFor(id) && (isBuiltin(id) || !/^[./]/.test(id)),
});
await build.write({ file, format: 'esm', sourcemap: true });
await build.close();
await import(pathToFileURL(file).href);
