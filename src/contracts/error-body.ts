import { isJsonObject, ownValue } from './json.js';

/** What an error body says, in whichever of the known forms it comes. */
export interface ErrorWords {
  /** A short code word. */
  code: string | null;
  /** Names and code words of the wrong fields, each short. */
  fields: string[];
  requestId: string | null;
  /** On one line. Only the caller of the request may see it: it may repeat input, so it never enters an error text or a log. */
  message: string | null;
}

// A body may repeat input, so only a short word is safe to keep, and free text never is.
const shortWord = /^[A-Za-z0-9_.-]{1,64}$/;

/** A short word that is safe to keep; null for anything else. */
export const toShortWord = (value: unknown): string | null =>
  typeof value === 'string' && shortWord.test(value) ? value : null;

/** A name or a code word of a field starts with a letter: a number could be that of a person. */
const toFieldWord = (value: unknown): string | null => {
  const word = toShortWord(value);
  return word !== null && /^[A-Za-z]/.test(word) ? word : null;
};

const maxTextLength = 1_000;
/** More errors and fields than people read. */
const mostShown = 5;

function toLine(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const line = value
    .slice(0, maxTextLength)
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim();
  return line === '' ? null : line;
}

/** One wrong field: its words, and what is wrong with it. */
interface FieldWords {
  words: (string | null)[];
  text: string | null;
}

const fieldWords = (field: unknown, code: unknown, title: unknown): FieldWords => {
  const [name, codeWord] = [toFieldWord(field), toFieldWord(code)];
  const why = toLine(title) ?? codeWord;
  return { words: [name, codeWord], text: [name, why].filter((one) => one !== null).join(': ') || null };
};

/** One of `errors`: `code`, `title` and `field_errors` (published). */
function entryWords(entry: unknown): Omit<ErrorWords, 'requestId'> {
  const list = ownValue(entry, 'field_errors');
  const found = (Array.isArray(list) ? list.slice(0, mostShown) : []).map((one) =>
    fieldWords(ownValue(one, 'field'), ownValue(one, 'code'), ownValue(one, 'title')),
  );
  const title = toLine(ownValue(entry, 'title')) ?? toLine(ownValue(entry, 'message'));
  return { code: toShortWord(ownValue(entry, 'code')), ...withFields(title, found) };
}

function withFields(title: string | null, found: FieldWords[]): Pick<ErrorWords, 'fields' | 'message'> {
  const texts = found.flatMap(({ text }) => text ?? []).join('; ');
  const message = texts === '' ? title : title === null ? texts : `${title} (${texts})`;
  return { fields: [...new Set(found.flatMap(({ words }) => words).filter((one) => one !== null))], message };
}

/** The envelope's `error` {`code`, `message`, `details`} (published). */
function envelopeWords(error: object): Omit<ErrorWords, 'requestId'> {
  const details = ownValue(error, 'details');
  const found = isJsonObject(details)
    ? Object.entries(details)
        .slice(0, mostShown)
        .map(([field, text]) => fieldWords(field, undefined, text))
    : [];
  return { code: toShortWord(ownValue(error, 'code')), ...withFields(toLine(ownValue(error, 'message')), found) };
}

/** Reads each form of error body that the service's pages print or its clients expect; the words are null where it has none. */
export function readErrorBody(body: unknown): ErrorWords {
  const requestId = toShortWord(ownValue(body, 'request_id'));
  const errors = ownValue(body, 'errors');
  if (Array.isArray(errors) && errors.length > 0) {
    const entries = errors.slice(0, mostShown).map(entryWords);
    const messages = entries.flatMap(({ message }) => message ?? []);
    return {
      code: entries.find(({ code }) => code !== null)?.code ?? null,
      fields: [...new Set(entries.flatMap(({ fields }) => fields))].slice(0, 2 * mostShown),
      message: messages.join('; ') || null,
      requestId,
    };
  }
  const error = ownValue(body, 'error');
  if (isJsonObject(error)) return { ...envelopeWords(error), requestId };
  const message = toLine(ownValue(body, 'message')) ?? toLine(ownValue(body, 'error_description'));
  // A client of the service expects `error` to be a sentence beside `message`, which then is no code word.
  return { code: toShortWord(error) ?? toShortWord(ownValue(body, 'code')), fields: [], message, requestId };
}

/** Is this the error envelope? An answer with a success status and this body is an error. */
export const isErrorEnvelope = (body: unknown): boolean =>
  ownValue(body, 'status') === 'error' && isJsonObject(ownValue(body, 'error'));
