import { findServer } from '../../stack/temporal/find-server.js';
import { builtWithGo } from '../../stack/temporal/go-build.js';
import type { Report } from '../../stack/temporal/run-command.js';

const version = '1.31.2'; // as in server-build/go.mod

/** Paths of the programs that docker-compose.yml takes from images. Builds them once, then takes them from the cache. */
export interface ServerPrograms {
  server: string;
  sqlTool: string;
}

/** Throws `ServerNotFound`. */
export async function findServerPrograms(say: Report): Promise<ServerPrograms> {
  return {
    server: await find('Temporal server', 'temporal-server', 'go.temporal.io/server/cmd/server', say),
    sqlTool: await find('Temporal SQL tool', 'temporal-sql-tool', 'go.temporal.io/server/cmd/tools/sql', say),
  };
}

function find(what: string, name: string, goPackage: string, say: Report): Promise<string> {
  const fileName = `${name}-${version}`;
  const folder = 'dev/faults/cluster/server-build';
  const source = builtWithGo({ what: `the ${what} ${version}`, folder, package: goPackage, fileName });
  return findServer({ what, sources: [source], remedy: 'install Go 1.26' }, say);
}
