import { isLoopbackAddress, originRule, toOrigin, toWebAddress, webAddressRule } from '../domain/web-address.js';
import { withHidden } from '../sealing/key-ring.js';
import type { EnvReader } from './env-reader.js';

/** What a person may do at the desk. `view`: see orders, rides and what needs somebody. `act`: press buttons. `personal`: also see references
 *  and messages, and search for references. */
export const deskRights = ['view', 'act', 'personal'] as const;

export type DeskRight = (typeof deskRights)[number];

const issuerName = 'FARETRAIL_DESK_ISSUER';
const urlName = 'FARETRAIL_DESK_URL';
const idName = 'FARETRAIL_DESK_CLIENT_ID';
const secretName = 'FARETRAIL_DESK_CLIENT_SECRET';

/** Where the page for dispatchers listens, and whom it lets in. */
export type DeskSettings = ReturnType<typeof readDesk>;

/** Reads `FARETRAIL_DESK_*`. */
export function readDesk(read: EnvReader) {
  const host = read.host('FARETRAIL_DESK_HOST');
  /** The origin at which browsers reach it; null: the loopback address where it listens. */
  const url = readAddress(read, urlName, toOrigin, originRule);
  /** Null: whoever reaches the loopback address is the one local user. */
  const login = readLogin(read);
  const isElsewhere = !/^(127(\.\d{1,3}){3}|::1)$/.test(host); // `localhost` may be made to mean something else
  const isPublic = isElsewhere || (url !== null && !isLoopbackAddress(url));
  if (isPublic && read.text(issuerName) === undefined) {
    const why = isElsewhere ? 'FARETRAIL_DESK_HOST' : urlName;
    read.refuse(issuerName, `missing; without a sign-in everybody who reaches ${why} could press every button`);
  }
  if (isElsewhere && read.text(urlName) === undefined)
    read.refuse(urlName, 'missing; set the https origin at which browsers reach the desk');
  /** Base address of the Temporal UI, for links; null: no links. */
  const temporalUi = readAddress(read, 'FARETRAIL_DESK_TEMPORAL_UI');
  const port = read.port('FARETRAIL_DESK_PORT') ?? 8482; // 0 takes any free port
  /** Seal sessions. Null: keys of this process, so a restart ends them. */
  const keys = read.keyRing('FARETRAIL_DESK_KEYS');
  return Object.freeze(withHidden({ host, port, url, login, temporalUi }, 'keys', keys));
}

function readAddress(read: EnvReader, name: string, toAddress = toWebAddress, rule = webAddressRule): string | null {
  const text = read.text(name);
  return text === undefined ? null : (toAddress(text) ?? read.refuse(name, rule) ?? null);
}

/** How people sign in. */
export type DeskLogin = NonNullable<ReturnType<typeof readLogin>>;

function readLogin(read: EnvReader) {
  const issuer = readAddress(read, issuerName);
  const clientId = read.text(idName);
  const secret = read.secret(secretName);
  /** The claim of the ID token that holds the roles of a person; a "." goes into an object. */
  const rolesClaim = read.text('FARETRAIL_DESK_ROLES_CLAIM') ?? 'roles';
  const roles = readRoles(read);
  if (read.text(issuerName) === undefined) return null;
  if (clientId === undefined) read.refuse(idName, 'missing; register the desk at the provider, and set its client id');
  if (secret === undefined && !read.isSecretSet(secretName)) read.refuse(secretName, 'missing; set that of the client');
  if (issuer === null || clientId === undefined || secret === undefined) return null;
  return Object.freeze(withHidden({ issuer, clientId, rolesClaim, roles }, 'clientSecret', secret.value));
}

const rolesRule = `must be RIGHT:ROLE, with ${deskRights.join(', ')} as RIGHT and a role of the claim as ROLE`;

/** Which role gives which right. */
function readRoles(read: EnvReader): { right: DeskRight; role: string }[] {
  const toRole = (entry: string) => {
    const at = entry.indexOf(':');
    const right = deskRights.find((one) => one === entry.slice(0, at));
    const role = entry.slice(at + 1).trim();
    return right && role !== '' ? { right, role } : undefined;
  };
  const entries = read.list('FARETRAIL_DESK_ROLES', (entry) => (toRole(entry) ? null : rolesRule));
  return (
    entries?.flatMap((entry) => toRole(entry) ?? []) ?? deskRights.map((right) => ({ right, role: `desk-${right}` }))
  );
}
