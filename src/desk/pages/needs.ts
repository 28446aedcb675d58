import { html } from 'ghtml';
import type { RunInNeed, RunsInNeed } from '../../temporal/attention.js';
import { may, type Viewer } from '../access.js';
import type { AttentionRow, StoredNeeds } from '../reads.js';
import { type Html, page, pathOf, type Seen, time, words } from './layout.js';
import { inWords, remedyFor, remedyOf } from './remedies.js';

/** One thing that needs somebody, whoever knows of it; `command` is for those who run faretrail. */
export type Need = Omit<RunInNeed, 'workflowId' | 'command' | 'paused'> & { remedy: string; command?: string };
/** The same on the page of what it is about. */
export type What = Omit<Need, 'kind' | 'account' | 'id'>;

const isOfRide = ({ kind }: Pick<Need, 'kind'>): boolean => kind === 'order' || kind === 'ride' || kind === 'change';

/** What the store and Temporal know, each thing once: rides first, and the oldest first. */
export function allNeeds(stored: readonly AttentionRow[], runs: readonly RunInNeed[]): Need[] {
  const keyOf = ({ kind, account, id, code }: Pick<Need, 'kind' | 'account' | 'id' | 'code'>) =>
    [kind, account, id, code].join(' ');
  const known = new Set(stored.map(keyOf));
  const needs = [
    ...stored.map((row) => ({ ...row, since: row.since.toISOString(), remedy: remedyFor(row.code) })),
    ...runs.filter((run) => !known.has(keyOf(run))).map((run) => ({ ...run, remedy: remedyOf(run) })),
  ];
  return needs.sort(
    (a, b) => Number(isOfRide(b)) - Number(isOfRide(a)) || (a.since ?? '').localeCompare(b.since ?? ''),
  );
}

const pages: Partial<Record<Need['kind'], 'orders' | 'rides' | 'parked'>> = {
  order: 'orders',
  ride: 'rides',
  parked: 'parked',
};

/** Why it needs somebody, since when, what to do, and what the worker said, which is for those who run faretrail. */
export const whatToDo = (viewer: Viewer, { code, since, message, remedy, command }: What): Html =>
  html`<p class="code"><b>${inWords(code)}</b> since !${time(since)}</p>
<p class="remedy">${remedy}!${command ? html` <code>${command}</code>` : ''}</p>
!${message && may(viewer, 'personal') ? html`<p><small>!${words(message)}</small></p>` : ''}`;

function needItem(viewer: Viewer, need: Need): Html {
  const { kind, account, id, command: _, ...what } = need;
  const place = pages[kind];
  const name = html`${kind} !${id === account ? '' : words(id)}`;
  return html`<li class="card">
<h2>!${place ? html`<a href="${pathOf(place, account, id)}">!${name}</a>` : name} <small>${account}</small></h2>
!${whatToDo(viewer, place ? what : need)}</li>`;
}

/** How many there are of each part, and how many of them are shown. */
function countsOf(needs: readonly Need[], stored: StoredNeeds, runs: RunsInNeed | null): Html {
  const rides = needs.filter(isOfRide).length;
  const others = needs.length - rides;
  const say = (shown: number, total: number, what: string) =>
    html`${total > shown ? `${shown} of ${total}` : shown} ${what}`;
  const { totals = { rides: 0, others: 0, parked: 0 } } = runs ?? {};
  const parts = [
    say(rides, Math.max(stored.total, totals.rides), rides === 1 ? 'order or ride' : 'orders and rides'),
    ...(totals.parked > 0
      ? [html`<a href="/parked">${totals.parked} parked ${totals.parked === 1 ? 'delivery' : 'deliveries'}</a>`]
      : []),
    ...(others > 0 ? [say(others, totals.others, others === 1 ? 'other thing' : 'other things')] : []),
  ];
  return html`<p>!${parts.join(' · ')}</p>`;
}

/** What needs somebody. `runs`: null while Temporal does not answer, or knows none of our search attributes. */
export function needsPage(frame: Seen, stored: StoredNeeds, runs: RunsInNeed | null): Html {
  const needs = allNeeds(stored.rows, runs?.rows ?? []);
  const missing = html`<p class="note bad" role="alert">Temporal does not answer, or no worker has run in its namespace yet: parked deliveries and trouble of accounts are not shown.</p>`;
  const isNothing = needs.length === 0 && !runs?.totals.parked;
  const list = isNothing
    ? html`<p>Nothing needs somebody.</p>`
    : html`!${countsOf(needs, stored, runs)}<ol class="cards">!${needs.map((need) => needItem(frame.viewer, need))}</ol>`;
  return page(
    { ...frame, title: 'What needs somebody', place: '/', live: 'needs' },
    html`!${runs ? '' : missing}!${list}`,
  );
}
