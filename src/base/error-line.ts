import { formatMessage, isTrituneError } from './errors.ts';
import { plainLine } from './format.ts';

/** Returns a thrown value as one line for people: `CODE: what happened (what to do)`. */
export const errorLine = (error: unknown): string =>
  isTrituneError(error)
    ? `${error.code}: ${oneLine(error.message)} (${oneLine(error.hint)})`
    : `INTERNAL: ${oneLine(formatMessage(error))} (this is a defect of tritune: please report it, with --verbose)`;

/** A message may repeat what a server says. */
const LONGEST = 4_000;

/** Returns the text without line breaks and control characters, and not longer than a screen. */
export const oneLine = (text: string): string => plainLine(text.replace(/\s*\n\s*/g, ' '), LONGEST);
