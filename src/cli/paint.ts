import { styleText } from 'node:util';

/** What a piece of text means; the colour follows from it. */
export type Tone = 'strong' | 'good' | 'bad' | 'faint';

/** Colours a piece of text, or leaves it as it is. */
export type Paint = (tone: Tone, text: string) => string;

const formats = { strong: 'bold', good: 'green', bad: 'red', faint: 'dim' } as const satisfies Record<Tone, string>;

export const withoutColour: Paint = (_tone, text) => text;
// Whether the stream takes colour has been decided by `paintFor`.
export const withColour: Paint = (tone, text) => styleText(formats[tone], text, { validateStream: false });

/** Colour only where a person looks: at a terminal, and unless NO_COLOR is set (https://no-color.org). */
export const paintFor = (isTerminal: boolean, noColour: string | undefined): Paint =>
  isTerminal && !noColour ? withColour : withoutColour;
