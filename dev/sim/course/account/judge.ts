// The promises of faretrail about all orders of an account, checked after their course.
import { isTokenRequest } from '../../world/service.js';
import { generalPromises } from '../general-promises.js';
import { durationText } from '../in-words.js';
import { ofEachOrder, orderPromises } from '../order/judge.js';
import { judgeBy } from '../scenario.js';
import type { AccountCourse } from './course.js';

export const judge = judgeBy<AccountCourse>([
  ...generalPromises,
  ...orderPromises.map(ofEachOrder<AccountCourse>),
  ['The service gets no more requests than the account may send', tooManyRequests],
]);

const windowMs = 10_000;
/** While a watch changes hands, two processes may share the budget for a moment. */
const mostShare = 1.3;

function tooManyRequests({ world, plan, startedAt }: AccountCourse): string[] {
  const most = Math.ceil((mostShare * plan.requestsPerSecond * windowMs) / 1_000);
  const sent = world.service.sent.flatMap(({ url, at }) => (isTokenRequest(url) ? [] : [at]));
  const crowded = sent.find((at, index) => (sent[index + most] ?? Number.POSITIVE_INFINITY) - at < windowMs);
  return crowded === undefined
    ? []
    : [`more than ${most} requests in the ten seconds from ${durationText(crowded - startedAt)} on`];
}
