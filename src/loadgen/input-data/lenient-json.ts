/** Deeper than the nesting of any tensor. */
const MAX_DEPTH = 64;
/** More digits than in any 64-bit integer. */
const MAX_DIGITS = 20;

const landmark = /["[\]{}]|-?(?:NaN|Infinity|Inf)/g;

/**
 * Parses JSON plus the bare words NaN, Infinity and Inf, which other writers use for numbers that
 * JSON lacks: they become the strings NaN, Infinity and -Infinity. With `exactIntegers`, whole
 * numbers that a double cannot hold become bigints. Throws a SyntaxError.
 */
export function parseLenientJson(text: string, exactIntegers: boolean): unknown {
  const json = withoutBareWords(text);
  return exactIntegers ? JSON.parse(json, exactInteger as (key: string, value: unknown) => unknown) : JSON.parse(json);
}

/**
 * Returns the text with its bare words in quotes. Throws if it is nested too deeply for a reader to
 * follow.
 */
function withoutBareWords(text: string): string {
  const pieces: string[] = [];
  let taken = 0;
  let depth = 0;
  landmark.lastIndex = 0;
  for (let match = landmark.exec(text); match; match = landmark.exec(text)) {
    const [token] = match;
    if (token === '"') {
      landmark.lastIndex = endOfString(text, match.index + 1);
    } else if (token === '[' || token === '{') {
      if (++depth > MAX_DEPTH) throw new SyntaxError(`nested deeper than ${MAX_DEPTH} levels`);
    } else if (token === ']' || token === '}') {
      depth--;
    } else {
      pieces.push(text.slice(taken, match.index), `"${token.replace(/Inf$/, 'Infinity').replace('-NaN', 'NaN')}"`);
      taken = landmark.lastIndex;
    }
  }
  return taken === 0 ? text : pieces.join('') + text.slice(taken);
}

/** Returns the position after the closing quote, or the end of the text without one. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start); at >= 0; at = text.indexOf('"', at + 1)) {
    let slashes = 0;
    while (text[at - 1 - slashes] === '\\') slashes++;
    if (slashes % 2 === 0) return at + 1;
  }
  return text.length;
}

function exactInteger(_: string, value: unknown, context: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  const source = context.source ?? '';
  return source.length <= MAX_DIGITS && /^-?\d+$/.test(source) ? BigInt(source) : value;
}
