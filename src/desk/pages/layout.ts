import { html } from 'ghtml';
import { may, type Unsent, type Viewer } from '../access.js';

// Every `${...}` is escaped. `!${...}` is HTML that another template has made.

/** A part of a page, made by a template. */
export type Html = string;

/** Who sees a page, and what became of the last button. */
export type Seen = Pick<Frame, 'viewer' | 'note'>;

/** What a page shows around its own content. */
export interface Frame {
  viewer: Viewer;
  title: string;
  /** Which part of the navigation it belongs to. */
  place?: '/' | '/orders' | '/notices';
  /** What has to change for the page to be shown anew. */
  live?: string;
  /** What became of the last button. */
  note?: Note | undefined;
  /** What was searched for. */
  searched?: string;
}

/** What became of a button. */
export interface Note {
  isGood: boolean;
  text: string;
  /** The form that was not carried out, to be shown again. */
  unsent?: Unsent;
}

const places = { '/': 'Needs somebody', '/orders': 'Orders and rides', '/notices': 'Lost notices' } as const;

const head = (title: string): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · faretrail desk</title>
<link rel="stylesheet" href="/static/desk.css">
<script src="/static/desk.js" type="module"></script>
</head>`;

/** What comes before the content of a page; `pageEnd` closes it. */
export const pageStart = ({ viewer, title, place, live, note, searched }: Frame): Html => html`!${head(title)}
<body>
<a class="skip" href="#main">Skip to content</a>
<header>
<nav aria-label="Pages">!${Object.entries(places).map(
  ([path, name]) => html`<a href="${path}" !${path === place ? 'aria-current="page"' : ''}>${name}</a>`,
)}</nav>
<search><form method="post" action="/search">!${csrfField(viewer)}
<label for="find">${may(viewer, 'personal') ? 'Order, ride or reference' : 'Order or ride'}</label>
<input id="find" name="text" type="search" required maxlength="128" autocomplete="off" dir="auto" placeholder="how it begins" value="${searched ?? unsentTo(viewer, '/search')?.text ?? ''}"><button>Find</button></form></search>
<form method="post" action="/logout" class="who">!${csrfField(viewer)}<span>!${words(viewer.who)}</span> <button class="plain">Sign out</button></form>
</header>
<main id="main" tabindex="-1" data-live="${live ?? ''}">
<h1>!${words(title)}</h1>
!${note ? html`<p id="note" class="note ${note.isGood ? 'good' : 'bad'}" role="${note.isGood ? 'status' : 'alert'}">${note.text}</p>` : ''}
`;

export const pageEnd: Html = html`</main>
<footer><p id="live" role="status"></p></footer>
</body>
</html>`;

/** A whole page. */
export const page = (frame: Frame, content: Html): Html => `${pageStart(frame)}${content}${pageEnd}`;

/** A page without a viewer: a refusal, or a way to sign in. */
export const plainPage = (title: string, content: Html): Html =>
  html`!${head(title)}<body><main id="main"><h1>${title}</h1>!${content}</main></body></html>`;

export const csrfField = ({ csrf }: Viewer): Html => hidden('csrf', csrf);

/** An instant: in UTC, and by the script in the zone of the viewer. */
export function time(instant: Date | string | null | undefined): Html {
  const date = new Date(instant ?? Number.NaN);
  if (Number.isNaN(date.getTime())) return '–';
  const iso = date.toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 19).replace('T', ' ')} UTC</time>`;
}

/** What people or other systems have written, in a direction of its own: beside an Arabic word numbers would change places. */
export const words = (text: string | null | undefined): Html =>
  text === null || text === undefined ? '–' : html`<bdi>${text}</bdi>`;

/** The same for those alone who may see it. */
export const personal = (viewer: Viewer, text: string | null | undefined): Html =>
  may(viewer, 'personal') ? words(text) : html`<span class="hidden">hidden</span>`;

/** The path of the page of an order, a ride or a parked delivery. */
export const pathOf = (kind: 'orders' | 'rides' | 'parked', account: string, id: string): string =>
  `/${kind}/${encodeURIComponent(account)}/${encodeURIComponent(id)}`;

export const linkTo = (kind: 'orders' | 'rides' | 'parked', account: string, id: string): Html =>
  html`<a href="${pathOf(kind, account, id)}">!${words(id)}</a>`;

/** What stands in place of what only Temporal knows, while it does not answer. */
export const temporalAway = (what: string): Html =>
  html`<p class="note bad" role="alert">Temporal does not answer, and ${what}.</p>`;

/** Names and values side by side. A value is HTML. */
export const facts = (pairs: readonly (readonly [name: string, value: Html] | false | null | undefined)[]): Html =>
  html`<dl>!${pairs.map((pair) => (pair ? html`<div><dt>${pair[0]}</dt><dd>!${pair[1]}</dd></div>` : ''))}</dl>`;

/** A heading with a table, which scrolls by itself where it is wider than the screen; nothing without rows. Cells are HTML. */
export const part = (title: string, head: readonly string[], rows: readonly (readonly Html[])[]): Html =>
  rows.length === 0
    ? ''
    : html`<h2>${title}</h2><div class="wide" role="region" aria-label="${title}" tabindex="0"><table>
<thead><tr>!${head.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>!${rows.map((cells) => html`<tr>!${cells.map((cell) => html`<td>!${cell}</td>`)}</tr>`)}</tbody></table></div>`;

/** What was typed into a form that came too late. */
const unsentTo = ({ unsent }: Viewer, path: string) => (unsent?.path === path ? unsent.fields : undefined);

/** What a button sends: what a person types under a label, or what stands there already. */
interface Field {
  name: string;
  label?: string;
  value?: string;
}

/** A button that asks once: the first press shows what it will do, the second does it. One whose form came too late is open, as it was sent. */
export function button(
  viewer: Viewer,
  {
    action,
    name,
    says,
    fields = [],
    id,
  }: { action: string; name: string; says: string; fields?: readonly Field[]; id: string },
): Html {
  if (!may(viewer, 'act')) return '';
  const before = unsentTo(viewer, action);
  const isThis = before && fields.every((one) => one.label !== undefined || before[one.name] === one.value);
  const shown = fields.map((one) => fieldOf(id, isThis ? { ...one, value: before[one.name] ?? '' } : one));
  return html`<details class="act" id="${id}" !${isThis ? 'open' : ''}><summary>${name}</summary>
<form method="post" action="${action}">!${csrfField(viewer)}<p>${says}</p>!${shown}<button>Yes, ${name.toLowerCase()}</button></form></details>`;
}

function fieldOf(buttonId: string, { name, label, value = '' }: Field): Html {
  if (label === undefined) return hidden(name, value);
  const id = `${buttonId}-${name}`;
  return html`<p><label for="${id}">${label}</label><input id="${id}" name="${name}" maxlength="200" autocomplete="off" dir="auto" value="${value}" required></p>`;
}

const hidden = (name: string, value: string): Html => html`<input type="hidden" name="${name}" value="${value}">`;
