/**
 * Encodes an integer (RFC 7541, section 5.1). `pattern`: the bits of the first byte before the
 * `prefixBits` where the integer begins.
 */
export function integer(pattern: number, prefixBits: number, value: number): number[] {
  const mask = (1 << prefixBits) - 1;
  if (value < mask) return [pattern | value];
  const bytes = [pattern | mask];
  let rest = value - mask;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  return [...bytes, rest];
}

/**
 * Returns a field as a literal (RFC 7541, section 6.2); `isKept` adds it to the peer's table for
 * later blocks.
 */
export function literal(name: string, value: string, isKept = false): number[] {
  return [isKept ? 0x40 : 0x00, ...string(name), ...string(value)];
}

function string(text: string): number[] {
  const bytes = Buffer.from(text, 'latin1');
  return [...integer(0, 7, bytes.byteLength), ...bytes];
}
