import { html } from 'ghtml';
import type { RunInNeed } from '../../cli/attention.js';
import { may, type Viewer } from '../access.js';
import type { AttentionRow } from '../reads.js';
import { type Frame, type Html, page, pathOf, time } from './layout.js';
import { inWords, remedyFor, remedyOf } from './remedies.js';

/** One thing that needs somebody, whoever knows of it. */
export interface Need {
  kind: RunInNeed['kind'];
  account: string;
  id: string;
  code: string;
  /** It may name a person. */
  message: string | null;
  since: string | null;
  remedy: string;
  /** For those who run faretrail. */
  command?: string;
}

/** What the store and Temporal know, each thing once, the oldest first. */
export function allNeeds(stored: readonly AttentionRow[], runs: readonly RunInNeed[]): Need[] {
  const keyOf = ({ kind, account, id, code }: Pick<Need, 'kind' | 'account' | 'id' | 'code'>) =>
    [kind, account, id, code].join(' ');
  const known = new Set(stored.map(keyOf));
  const needs = [
    ...stored.map((row) => ({ ...row, since: row.since.toISOString(), remedy: remedyFor(row.code) })),
    ...runs.filter((run) => !known.has(keyOf(run))).map((run) => ({ ...run, remedy: remedyOf(run) })),
  ];
  return needs.sort((a, b) => (a.since ?? '').localeCompare(b.since ?? ''));
}

const pages: Partial<Record<Need['kind'], 'orders' | 'rides' | 'parked'>> = {
  order: 'orders',
  ride: 'rides',
  parked: 'parked',
};

function needItem(viewer: Viewer, need: Need): Html {
  const { kind, account, id, code, message, since, remedy, command } = need;
  const place = pages[kind];
  const name = html`${kind} ${id === account ? '' : id}`;
  return html`<li class="card">
<h2>!${place ? html`<a href="${pathOf(place, account, id)}">!${name}</a>` : name} <small>${account}</small></h2>
<p class="code"><b>${inWords(code)}</b> since !${time(since)}</p>
!${message && may(viewer, 'personal') ? html`<p>${message}</p>` : ''}
<p class="remedy">${remedy}!${command && !place ? html` <code>${command}</code>` : ''}</p>
</li>`;
}

/** What needs somebody. `runs`: null while Temporal does not answer. */
export function needsPage(
  frame: Omit<Frame, 'title' | 'place' | 'live'>,
  stored: readonly AttentionRow[],
  runs: readonly RunInNeed[] | null,
): Html {
  const needs = allNeeds(stored, runs ?? []);
  const missing = html`<p class="note bad" role="alert">Temporal does not answer, so parked deliveries and trouble of accounts are not shown.</p>`;
  const list =
    needs.length === 0
      ? html`<p>Nothing needs somebody.</p>`
      : html`<ol class="cards">!${needs.map((need) => needItem(frame.viewer, need))}</ol>`;
  return page(
    { ...frame, title: 'What needs somebody', place: '/', live: 'needs' },
    html`!${runs ? '' : missing}!${list}`,
  );
}
