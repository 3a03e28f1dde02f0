/** String literals of the protobuf text format: bytes in UTF-8, between single or double quotes. */

const escapes: ReadonlyMap<string, number> = new Map(
  Object.entries({ a: 7, b: 8, f: 12, n: 10, r: 13, t: 9, v: 11, '\\': 92, "'": 39, '"': 34, '?': 63 }),
);
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

/**
 * Returns the text of adjacent literals, given with quotes; together they form one string. They are
 * joined as bytes, because octal escapes may split a character across two of them. Throws an Error
 * that explains what is wrong with the escape or the bytes.
 */
export function unquote(literals: readonly string[]): string {
  const chunks = literals.map((literal) => toBytes(literal.slice(1, -1)));
  try {
    return utf8.decode(Buffer.concat(chunks));
  } catch {
    throw new Error('the bytes of the string are not UTF-8');
  }
}

function toBytes(body: string): Uint8Array {
  const chunks: Uint8Array[] = [];
  let from = 0;
  for (let slash = body.indexOf('\\'); slash >= 0; slash = body.indexOf('\\', from)) {
    chunks.push(encoder.encode(body.slice(from, slash)));
    const { bytes, length } = escapeAt(body, slash);
    chunks.push(bytes);
    from = slash + length;
  }
  chunks.push(encoder.encode(body.slice(from)));
  return Buffer.concat(chunks);
}

const numeric = /\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))/y;

function escapeAt(body: string, slash: number): { bytes: Uint8Array; length: number } {
  const simple = escapes.get(body.charAt(slash + 1));
  if (simple !== undefined) return { bytes: Uint8Array.of(simple), length: 2 };
  numeric.lastIndex = slash;
  const match = numeric.exec(body);
  if (!match) throw new Error(`there is no escape '${body.slice(slash, slash + 2)}'`);
  const [whole, octal, hex, short, long] = match;
  if (octal !== undefined || hex !== undefined) {
    const byte = octal !== undefined ? Number.parseInt(octal, 8) : Number.parseInt(hex as string, 16);
    if (byte > 255) throw new Error(`'${whole}' is more than one byte`);
    return { bytes: Uint8Array.of(byte), length: whole.length };
  }
  const code = Number.parseInt((short ?? long) as string, 16);
  if (code >= 0xd800 && code < 0xdc00) return surrogatePair(body, slash, whole, code);
  if (code > 0x10ffff || (code >= 0xdc00 && code < 0xe000)) throw new Error(`'${whole}' is not a character`);
  return { bytes: encoder.encode(String.fromCodePoint(code)), length: whole.length };
}

/** Two \u escapes may spell a character beyond 16 bits. */
function surrogatePair(
  body: string,
  slash: number,
  whole: string,
  high: number,
): { bytes: Uint8Array; length: number } {
  const low = /^\\u(d[c-f][0-9a-f]{2})/i.exec(body.slice(slash + whole.length, slash + whole.length + 6));
  if (!low) throw new Error(`'${whole}' is half a character`);
  const text = String.fromCharCode(high, Number.parseInt(low[1] as string, 16));
  return { bytes: encoder.encode(text), length: whole.length + low[0].length };
}

const named: ReadonlyMap<string, string> = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
  ['"', '\\"'],
  ['\\', '\\\\'],
]);

/**
 * Characters that a reader would not see: control characters, and the marks that reverse the
 * direction of writing, which could make a config look different from what it says.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to be escaped
const unseen = /["\\]|[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/**
 * Returns the text as one double-quoted literal. Invisible characters become escapes; everything
 * else stays.
 */
export function quote(text: string): string {
  const escaped = text.replace(unseen, (character) => named.get(character) ?? octal(character));
  // A config is also printed into logs of CIs, which obey `##vso[` and the like.
  return `"${escaped.replace(/##(?=\w*\[)/g, `${octal('#')}#`)}"`;
}

/** Returns a character as the escapes of its bytes. */
const octal = (character: string): string =>
  Array.from(encoder.encode(character), (byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('');
