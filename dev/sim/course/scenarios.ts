import { accountScenario, orderScenario } from './account/scenario.js';
import { callScenario } from './call/scenario.js';
import { rideScenario } from './ride/scenario.js';
import { type Searchable, searchable } from './search.js';
import { subscriptionScenario } from './subscription/scenario.js';

/** By the name that `npm run sim` takes. */
export const scenarios: Readonly<Record<string, Searchable>> = {
  order: searchable(orderScenario),
  ride: searchable(rideScenario),
  account: searchable(accountScenario),
  call: searchable(callScenario),
  subscription: searchable(subscriptionScenario),
};
