/** Before each element. */
export const LENGTH_BYTES = 4;

/** Encodes BYTES elements in raw form, each preceded by its length. */
export function encodeTexts(texts: readonly (string | Uint8Array)[]): Uint8Array {
  const elements = texts.map((text) => (typeof text === 'string' ? Buffer.from(text, 'utf8') : text));
  const raw = Buffer.alloc(elements.reduce((sum, element) => sum + LENGTH_BYTES + element.length, 0));
  let at = 0;
  for (const element of elements) {
    raw.writeUInt32LE(element.length, at);
    raw.set(element, at + LENGTH_BYTES);
    at += LENGTH_BYTES + element.length;
  }
  return raw;
}

/** Returns the number of BYTES elements; null if the lengths do not match the end. */
export function countTexts(raw: Uint8Array): number | null {
  const view = new DataView(raw.buffer, raw.byteOffset, raw.byteLength);
  let at = 0;
  let count = 0;
  while (at + LENGTH_BYTES <= raw.length) {
    at += LENGTH_BYTES + view.getUint32(at, true);
    count++;
  }
  return at === raw.length ? count : null;
}

/** Returns the BYTES elements of a raw tensor that `countTexts` accepts. */
export function decodeTexts(raw: Uint8Array): readonly Uint8Array[] {
  const view = new DataView(raw.buffer, raw.byteOffset, raw.byteLength);
  const elements: Uint8Array[] = [];
  for (let at = 0; at < raw.length; at += LENGTH_BYTES + (elements.at(-1) as Uint8Array).length) {
    const start = at + LENGTH_BYTES;
    elements.push(raw.subarray(start, start + view.getUint32(at, true)));
  }
  return elements;
}
