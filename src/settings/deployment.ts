import type { EnvReader } from './env-reader.js';

/** Which version of which worker deployment a worker is (Temporal's Worker Versioning). */
export interface DeploymentVersion {
  readonly deploymentName: string;
  readonly buildId: string;
}

const nameSetting = 'FARETRAIL_DEPLOYMENT_NAME';
const buildIdSetting = 'FARETRAIL_BUILD_ID';

/** Reads both settings; null: not versioned. A build id alone is no mistake, since images have one whoever runs them. */
export function readDeployment(read: EnvReader): DeploymentVersion | null {
  // The server writes a version as "name:build id", once as "name.build id".
  const deploymentName = read.matching(
    nameSetting,
    /^[A-Za-z0-9_-]{1,100}$/,
    'must be 1 to 100 letters, digits, "_" or "-"',
  );
  const buildId = read.matching(
    buildIdSetting,
    /^[A-Za-z0-9._+-]{1,100}$/,
    'must be 1 to 100 letters, digits, ".", "_", "+" or "-"',
  );
  if (deploymentName !== undefined && read.text(buildIdSetting) === undefined)
    read.refuse(buildIdSetting, `missing; set it to what tells this build from others, or unset ${nameSetting}`);
  return deploymentName === undefined || buildId === undefined ? null : Object.freeze({ deploymentName, buildId });
}
