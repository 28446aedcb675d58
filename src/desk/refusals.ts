import type { FastifyReply } from 'fastify';
import { html } from 'ghtml';
import { plainPage } from './pages/layout.js';

/** Why a page or a button is refused: HTTP status, title and text. */
const refusals = {
  notFound: [404, 'Not found', html`There is no such page. <a href="/">What needs somebody</a>`],
  unreadable: [400, 'Not understood', html`The request cannot be read.`],
  storeAway: [503, 'The store does not answer', html`Orders are followed all the same. Reload the page in a moment.`],
  signedOut: [401, 'Signed out', html`Nothing was done. <a href="/">Sign in</a> and try again.`],
  notSignedIn: [400, 'Not signed in', html`The sign-in did not come through. <a href="/">Try again</a>`],
  noProvider: [503, 'No sign-in', html`The provider of sign-ins does not answer. Reload the page in a moment.`],
  foreignForm: [403, 'Nothing was done', html`The form is of another sign-in. <a href="/">Go on</a> and try again.`],
  mayOnlyLook: [403, 'Nothing was done', html`You may look, and press no buttons.`],
} as const;

export const sendPage = (reply: FastifyReply, status: number, title: string, content: string): FastifyReply =>
  reply
    .code(status)
    .type('text/html; charset=utf-8')
    .send(plainPage(title, html`<p>!${content}</p>`));

export const refuse = (
  reply: FastifyReply,
  why: keyof typeof refusals,
  [status, title, text] = refusals[why],
): FastifyReply => sendPage(reply, status, title, text);
