import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { errorCodes } from '#base/errors.ts';

const root = resolve(import.meta.dirname, '../../src');

interface ErrorCall {
  readonly place: string;
  /** Code, message, hint and options, as they are written. */
  readonly parts: readonly string[];
}

const calls = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .flatMap((file) => callsIn(file, readFileSync(join(root, file), 'utf8')));

function callsIn(file: string, text: string): readonly ErrorCall[] {
  return [...text.matchAll(/new TrituneError\(|super\((?='[A-Z_]+', )/g)].map(({ index, 0: { length } }) => ({
    place: `${file}:${text.slice(0, index).split('\n').length}`,
    parts: partsFrom(text, index + length),
  }));
}

/** The arguments of a call, from behind its opening bracket on. */
function partsFrom(text: string, start: number): readonly string[] {
  const parts = [''];
  const open: string[] = [];
  for (let at = start; at < text.length; at += 1) {
    const sign = text[at] as string;
    const quote = /['"`]/.test(open.at(-1) ?? '') ? open.at(-1) : null;
    if (quote === null && open.length === 0 && sign === ')') return parts.map((part) => part.trim()).filter(Boolean);
    if (quote === null && open.length === 0 && sign === ',') parts.push('');
    else parts[parts.length - 1] += sign;
    if (sign === '\\') parts[parts.length - 1] += text[++at] ?? '';
    else if (quote === sign || (quote === null && /[)\]}]/.test(sign))) open.pop();
    else if (quote === '`' && sign === '$' && text[at + 1] === '{') {
      open.push('{');
      parts[parts.length - 1] += text[++at] ?? '';
    } else if (quote === null && /['"`([{]/.test(sign)) open.push(sign);
  }
  throw new Error('a call that does not end');
}

/** The text of a literal; null for another expression. */
const literal = (part = ''): string | null => /^(['"`])(.*)\1$/s.exec(part)?.[2] ?? null;

describe('errors', () => {
  it('are found in the source', () => expect(calls.length).toBeGreaterThan(200));

  it.each(calls)('say what happened and what to do: $place', ({ parts }) => {
    const [code, message, hint] = parts;
    expect(code).toBeDefined();
    expect(message).toBeDefined();
    expect(hint, 'a hint').toBeDefined();
    for (const text of [message, hint].map(literal)) {
      if (text === null) continue;
      expect(text.trim()).not.toBe('');
      expect(text, 'no full stop: the two stand in one line').not.toMatch(/\.$/);
      expect(text, "'is not a', not 'is no'").not.toMatch(/(?<!there )\b(is|are) no [a-z]/);
    }
  });

  // How a run ended, which its own lines say: nothing throws these.
  const outcomes = ['INFEASIBLE', 'REGRESSION'];

  it('have a hint for every code', () => {
    const thrown = new Set(calls.flatMap(({ parts }) => literal(parts[0]) ?? []));
    for (const code of Object.keys(errorCodes)) if (!outcomes.includes(code)) expect(thrown, code).toContain(code);
  });
});
