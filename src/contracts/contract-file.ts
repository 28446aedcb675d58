import type { z } from 'zod';
import { InvalidInput } from '../domain/errors.js';
import { type ContractProfile, ContractProfileSchema } from './contract-profile.js';
import { defaultContractProfile } from './default-contract-profile.js';
import { isJsonObject, ownValue } from './json-object.js';

/** The names that may stand in braces in the path of an operation. */
export const pathPlaceholders = ['order_id', 'business_id', 'reference_field_id', 'id'] as const;

/** One of the names in `pathPlaceholders`. */
export type PathPlaceholder = (typeof pathPlaceholders)[number];

// Settings of one verification mode mean nothing in another, so half of an old one must not survive.
const replacedWhole = new Set(['delivery.verification']);
const needOrderId = ['orderStatus', 'orderDetails'];
const sendablePath = /^\/[\x21\x22\x24-\x7e]*$/; // printable ASCII, no blank, no "#"

const joined = (at: string, key: string): string => (at === '' ? key : `${at}.${key}`);

/** Objects merge, arrays and scalars replace. Own keys only, and `fromEntries` defines: `__proto__` stays a mere name. */
function merged(base: unknown, override: unknown, at = ''): unknown {
  if (!isJsonObject(base) || !isJsonObject(override) || replacedWhole.has(at)) return override;
  const keys = new Set([...Object.keys(base), ...Object.keys(override)]);
  const entries = [...keys].map((key): [string, unknown] => {
    const replacement = Object.hasOwn(override, key) ? override[key] : ownValue(base, key);
    return [key, merged(ownValue(base, key), replacement, joined(at, key))];
  });
  return Object.fromEntries(entries);
}

function shapeProblems(issues: z.core.$ZodIssue[]): string[] {
  return issues.flatMap((issue) => {
    const at = issue.path.map(String).join('.');
    if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => `${joined(at, key)}: unknown field`);
    return [`${at || 'profile'}: ${issue.message}`];
  });
}

function pathProblem(operation: string, path: string): string | undefined {
  if (!sendablePath.test(path)) return 'must start with "/" and hold printable ASCII without blanks and "#"';
  const names = [...path.matchAll(/\{([^{}]*)\}/g)].map(([, name]) => name ?? '');
  const unknown = names.filter((name) => !pathPlaceholders.some((known) => known === name));
  if (unknown.length > 0)
    return `unknown placeholder {${unknown.join('}, {')}}; known are ${pathPlaceholders.join(', ')}`;
  if (/[{}]/.test(path.replace(/\{[^{}]*\}/g, ''))) return 'has a brace without its partner';
  if (needOrderId.includes(operation) && !names.includes('order_id')) return 'must hold {order_id}';
  return undefined;
}

function pathProblems(profile: unknown): string[] {
  const operations = ownValue(profile, 'operations');
  return Object.entries(isJsonObject(operations) ? operations : {}).flatMap(([name, operation]) => {
    const path = ownValue(operation, 'path');
    const problem = typeof path === 'string' && path.startsWith('/') ? pathProblem(name, path) : undefined;
    return problem === undefined ? [] : [`operations.${name}.path: ${problem}`];
  });
}

/** The contract profile in force: the default with a parsed override file laid over it (`{}` for none).
 *  Throws `InvalidInput` that lists every bad field by its path. */
export function parseContractProfile(overrides: unknown): ContractProfile {
  if (!isJsonObject(overrides)) throw new InvalidInput('contract profile: must be a JSON object');
  const candidate = merged(defaultContractProfile, overrides);
  const parsed = ContractProfileSchema.safeParse(candidate);
  const problems = [...shapeProblems(parsed.error?.issues ?? []), ...pathProblems(candidate)];
  if (!parsed.success || problems.length > 0) throw new InvalidInput(`contract profile: ${problems.join('; ')}`);
  return parsed.data;
}
