import { ProtocolError } from './frames.ts';

/**
 * Bits in the code of each byte, then of EOS (RFC 7541, appendix B). The code is canonical: codes
 * of one length follow each other in the order of their bytes, and the first of a length continues
 * after the last of the one before.
 */
// biome-ignore format: a table
const codeBits = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
  28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
  5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7,
  7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
  15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7,
  7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
  24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21,
  23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
  26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24,
  21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
  26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
];

const EOS = 256;
const MAX_BITS = 30;
const MAX_PADDING_BITS = 7;

/**
 * For each length: the first code, the number of codes, and the start of their symbols in
 * `symbols`.
 */
const firstCode = new Int32Array(MAX_BITS + 1);
const count = new Int32Array(MAX_BITS + 1);
const offset = new Int32Array(MAX_BITS + 1);
const symbols = codeBits.map((_, symbol) => symbol).sort((a, b) => countBits(a) - countBits(b) || a - b);

function countBits(symbol: number): number {
  return codeBits[symbol] as number;
}

for (const bits of codeBits) count[bits] = (count[bits] as number) + 1;
for (let bits = 1; bits <= MAX_BITS; bits++) {
  const shorter = count[bits - 1] as number;
  firstCode[bits] = ((firstCode[bits - 1] as number) + shorter) << 1;
  offset[bits] = (offset[bits - 1] as number) + shorter;
}

/** Returns the text of a Huffman-coded string, one character per byte. Errors: ProtocolError. */
export function huffmanDecode(bytes: Uint8Array, start: number, end: number): string {
  const text: number[] = [];
  let code = 0;
  let bits = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    for (let bit = 7; bit >= 0; bit--) {
      code = (code << 1) | ((byte >> bit) & 1);
      bits++;
      const index = code - (firstCode[bits] as number);
      if (index < (count[bits] as number)) {
        const symbol = symbols[(offset[bits] as number) + index] as number;
        if (symbol === EOS) throw new ProtocolError('COMPRESSION_ERROR', 'a Huffman-coded string contains EOS');
        text.push(symbol);
        code = 0;
        bits = 0;
      }
    }
  }
  // The rest must be a prefix of EOS, which is all ones, and shorter than a byte.
  if (bits > MAX_PADDING_BITS || code !== (1 << bits) - 1) {
    throw new ProtocolError('COMPRESSION_ERROR', 'a Huffman-coded string ends in bad padding');
  }
  return Buffer.from(text).toString('latin1');
}
