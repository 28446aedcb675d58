import type { ContractProfile, Operation, OperationName } from '../contracts/contract-profile.js';
import type { PathPlaceholder } from '../contracts/default-contract-profile.js';
import type { Account } from '../domain/account.js';
import { InvalidInput } from '../domain/errors.js';
import { type Scope, toScope } from '../domain/keys.js';
import type { ApiRequest } from './http.js';

/** One call of an operation of the profile. `values` fill the placeholders of its path. */
export interface OperationCall {
  operation: OperationName;
  values: Partial<Record<PathPlaceholder, string>>;
  accessToken: string;
  /** Sent as JSON. */
  body?: unknown;
  /** Sent in the header that the profile names for it; where it names none it stays unsaid. */
  requestId?: string;
  /** See `ApiRequest`. */
  beforeSending?: (() => void) | undefined;
}

/** The operation as the profile has it. Throws `InvalidInput` when it is switched off or belongs to the other interface. */
function offeredOperation(account: Account, name: OperationName, profile: ContractProfile): Operation {
  const operation = profile.operations[name];
  if (operation.enabled === false) {
    throw new InvalidInput(`operations.${name}.enabled: the contract profile switches this operation off`);
  }
  if (operation.interface !== account.interface) {
    throw new InvalidInput(`${name}: not an operation of the ${account.interface} interface`);
  }
  return operation;
}

/** The scope of the token that an operation needs. Throws `InvalidInput` where the account cannot ask for the operation, before a token
 *  is requested for it. */
export const operationScope = (account: Account, name: OperationName, profile: ContractProfile): Scope =>
  toScope(offeredOperation(account, name, profile).scope);

/** Makes the request of an operation. Throws `InvalidInput` when the operation is switched off, belongs
 *  to the other interface, or lacks a value for its path. */
export function operationRequest(account: Account, call: OperationCall, profile: ContractProfile): ApiRequest {
  const operation = offeredOperation(account, call.operation, profile);
  const { requestIdHeader = '' } = operation;
  const values = account.businessId === undefined ? call.values : { business_id: account.businessId, ...call.values };
  return {
    method: operation.method,
    url: `${account.baseUrl}${filled(operation.path, values)}`,
    headers: {
      Authorization: `Bearer ${call.accessToken}`,
      'Content-Type': 'application/json', // on a GET too: given for the partner's order status
      ...(requestIdHeader === '' || call.requestId === undefined ? {} : { [requestIdHeader]: call.requestId }),
    },
    ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
    ...(call.beforeSending && { beforeSending: call.beforeSending }),
  };
}

function filled(path: string, values: Partial<Record<string, string>>): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined || value === '') throw new InvalidInput(`${name}: needed for the path of this operation`);
    // No encoding keeps these two from being read as "this folder" and "the folder above".
    if (value === '.' || value === '..') throw new InvalidInput(`${name}: must not be "." or ".."`);
    return encodeURIComponent(value);
  });
}
