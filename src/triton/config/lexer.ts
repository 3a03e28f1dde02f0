import { TrituneError } from '#base/errors.ts';

export interface Token {
  readonly kind: 'name' | 'number' | 'string' | 'symbol' | 'end';
  /** The source text; a string includes its quotes. */
  readonly text: string;
  readonly line: number;
  readonly column: number;
}

/**
 * A config is a few kilobytes; anything larger than this is not a config and would only cost
 * memory.
 */
const maxCharacters = 4 * 1024 * 1024;

const blank = /[ \t\r\n\v\f]+|#[^\n]*/y;
const name = /[A-Za-z_][A-Za-z0-9_]*/y;
const number = /0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[fF]?/y;
const symbols = '{}<>[]:,;-./';

/**
 * Reads the tokens of a text-format file one by one, with their positions. Skips comments and
 * blanks. `fail` throws CONFIG_INVALID as FILE:LINE:COLUMN.
 */
export class ConfigLexer {
  readonly #text: string;
  readonly #fileName: string;
  #offset: number;
  #line = 1;
  #lineStart: number;
  #next: Token;

  constructor(text: string, fileName: string) {
    this.#text = text;
    this.#fileName = fileName;
    this.#offset = text.startsWith('\uFEFF') ? 1 : 0;
    this.#lineStart = this.#offset;
    this.#next = { kind: 'end', text: '', line: 1, column: 1 };
    if (text.length > maxCharacters) this.fail(`the file has more than ${maxCharacters} characters`);
    this.#next = this.#read();
  }

  /** The next token. */
  get next(): Token {
    return this.#next;
  }

  take(): Token {
    const token = this.#next;
    this.#next = this.#read();
    return token;
  }

  /** Takes the symbol if it comes next. */
  accept(...texts: string[]): boolean {
    if (!this.at(...texts)) return false;
    this.take();
    return true;
  }

  at(...texts: string[]): boolean {
    return this.#next.kind === 'symbol' && texts.includes(this.#next.text);
  }

  expect(symbol: string, where: string): void {
    if (!this.accept(symbol)) this.failExpecting(`'${symbol}' ${where}`);
  }

  fail(reason: string, at: { line: number; column: number } = this.#next): never {
    throw new TrituneError(
      'CONFIG_INVALID',
      `${this.#fileName}:${at.line}:${at.column}: ${reason}`,
      'correct the file; it is a ModelConfig in protobuf text format',
    );
  }

  failExpecting(expected: string): never {
    const { kind, text } = this.#next;
    const excerpt = text.length > 40 ? `${text.slice(0, 40)}…` : text;
    return this.fail(`expected ${expected}, found ${kind === 'end' ? 'the end of the file' : `'${excerpt}'`}`);
  }

  #read(): Token {
    while (this.#skip(blank)) {}
    const place = { line: this.#line, column: this.#offset - this.#lineStart + 1 };
    const from = this.#offset;
    const first = this.#text.charAt(from);
    const token = (kind: Token['kind']): Token => ({ kind, text: this.#text.slice(from, this.#offset), ...place });
    if (first === '') return token('end');
    if (first === '"' || first === "'") {
      this.#offset = this.#endOfString(from, first, place);
      return token('string');
    }
    if (this.#skip(name)) return token('name');
    if (this.#skip(number)) {
      if (/[\w.]/.test(this.#text.charAt(this.#offset)))
        this.fail(`malformed number '${this.#text.slice(from, this.#offset + 1)}'`, place);
      return token('number');
    }
    this.#offset++;
    return symbols.includes(first) ? token('symbol') : this.fail(`${JSON.stringify(first)} means nothing here`, place);
  }

  #skip(pattern: RegExp): boolean {
    pattern.lastIndex = this.#offset;
    const matched = pattern.exec(this.#text)?.[0];
    if (matched === undefined) return false;
    for (let at = matched.indexOf('\n'); at >= 0; at = matched.indexOf('\n', at + 1)) {
      this.#line++;
      this.#lineStart = this.#offset + at + 1;
    }
    this.#offset += matched.length;
    return true;
  }

  #endOfString(from: number, mark: string, place: { line: number; column: number }): number {
    for (let at = from + 1; at < this.#text.length; at++) {
      const character = this.#text.charAt(at);
      if (character === mark) return at + 1;
      if (character === '\n') break;
      if (character === '\\') at++;
    }
    return this.fail('the string does not end on its line', place);
  }
}
