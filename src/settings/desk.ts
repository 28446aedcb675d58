import { isLoopbackAddress, toOrigin, toWebAddress, webAddressRule } from '../domain/web-address.js';
import { type KeyRing, withHidden } from '../sealing/key-ring.js';
import type { EnvReader } from './env-reader.js';

/** What a person may do at the desk. `view`: see orders, rides and what needs somebody. `act`: press buttons. `personal`: also see references
 *  and messages, and search for references. */
export const deskRights = ['view', 'act', 'personal'] as const;

export type DeskRight = (typeof deskRights)[number];

/** How people sign in. */
export interface DeskLogin {
  /** Of the OpenID provider. */
  readonly issuer: string;
  readonly clientId: string;
  /** Not enumerable. */
  readonly clientSecret: string;
  /** The claim of the ID token that holds the roles of a person; a "." goes into an object. */
  readonly rolesClaim: string;
  /** Which role gives which right. */
  readonly roles: readonly { readonly right: DeskRight; readonly role: string }[];
}

/** Where the page for dispatchers listens, and whom it lets in. */
export interface DeskSettings {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** The origin at which browsers reach it, such as `https://desk.example.com`; null: the loopback address where it listens. */
  readonly url: string | null;
  /** Null: whoever reaches the loopback address is the one local user. */
  readonly login: DeskLogin | null;
  /** Seal sessions. Null: keys of this process, so a restart ends them. */
  readonly keys: KeyRing | null;
  /** Base address of the Temporal UI, for links; null: no links. */
  readonly temporalUi: string | null;
}

const issuerName = 'FARETRAIL_DESK_ISSUER';
const urlName = 'FARETRAIL_DESK_URL';
const idName = 'FARETRAIL_DESK_CLIENT_ID';
const secretName = 'FARETRAIL_DESK_CLIENT_SECRET';

/** Reads `FARETRAIL_DESK_*`. */
export function readDesk(read: EnvReader): DeskSettings {
  const host = read.host('FARETRAIL_DESK_HOST');
  const url = readOrigin(read);
  const login = readLogin(read);
  const isElsewhere = !/^(127(\.\d{1,3}){3}|::1)$/.test(host); // `localhost` may be made to mean something else
  const isPublic = isElsewhere || (url !== null && !isLoopbackAddress(url));
  if (isPublic && read.text(issuerName) === undefined) {
    const why = isElsewhere ? 'FARETRAIL_DESK_HOST' : urlName;
    read.refuse(issuerName, `missing; without a sign-in everybody who reaches ${why} could press every button`);
  }
  if (isElsewhere && read.text(urlName) === undefined)
    read.refuse(urlName, 'missing; set the https origin at which browsers reach the desk');
  const settings = { host, port: read.port('FARETRAIL_DESK_PORT') ?? 8482, url, login };
  const temporalUi = readAddress(read, 'FARETRAIL_DESK_TEMPORAL_UI');
  return Object.freeze(withHidden({ ...settings, temporalUi }, 'keys', read.keyRing('FARETRAIL_DESK_KEYS')));
}

function readOrigin(read: EnvReader): string | null {
  const text = read.text(urlName);
  const origin = text === undefined ? null : (toOrigin(text) ?? null);
  if (text !== undefined && origin === null)
    read.refuse(urlName, 'must be an https origin (http only at a loopback address) such as https://desk.example.com');
  return origin;
}

function readAddress(read: EnvReader, name: string): string | null {
  const text = read.text(name);
  if (text === undefined) return null;
  return toWebAddress(text) ?? read.refuse(name, webAddressRule) ?? null;
}

function readLogin(read: EnvReader): DeskLogin | null {
  const issuer = readAddress(read, issuerName);
  const clientId = read.text(idName);
  const secret = read.secret(secretName);
  const rolesClaim = read.text('FARETRAIL_DESK_ROLES_CLAIM') ?? 'roles';
  const roles = readRoles(read);
  if (read.text(issuerName) === undefined) return null;
  if (clientId === undefined) read.refuse(idName, 'missing; register the desk at the provider, and set its client id');
  if (secret === undefined && !read.isSecretSet(secretName)) read.refuse(secretName, 'missing; set that of the client');
  if (issuer === null || clientId === undefined || secret === undefined) return null;
  return Object.freeze(withHidden({ issuer, clientId, rolesClaim, roles }, 'clientSecret', secret.value));
}

const rolesRule = `must be RIGHT:ROLE, with ${deskRights.join(', ')} as RIGHT and a role of the claim as ROLE`;

function readRoles(read: EnvReader): DeskLogin['roles'] {
  const toRole = (entry: string) => {
    const at = entry.indexOf(':');
    const right = deskRights.find((one) => one === entry.slice(0, at));
    const role = entry.slice(at + 1).trim();
    return right && role !== '' ? { right, role } : undefined;
  };
  const entries = read.list('FARETRAIL_DESK_ROLES', (entry) => (toRole(entry) ? null : rolesRule));
  if (!entries) return deskRights.map((right) => ({ right, role: `desk-${right}` }));
  return entries.flatMap((entry) => toRole(entry) ?? []);
}
