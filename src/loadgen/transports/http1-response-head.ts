/** The peer's bytes are not an HTTP/1.1 response. */
export class MalformedResponse extends Error {
  override readonly name = 'MalformedResponse';
}

export interface ResponseHead {
  /** Status line and fields, without the empty line. */
  readonly text: string;
  readonly statusCode: number;
  /** The framing of the body (RFC 9112, section 6.3). */
  readonly framing: 'length' | 'chunked' | 'until-close';
  /** Length of the body in bytes for framing 'length'; otherwise 0. */
  readonly contentLength: number;
  /** True unless the server itself wants to close the connection. */
  readonly wantsToStay: boolean;
}

/**
 * Reads the parts of a response's head that determine the framing of the body. Errors:
 * MalformedResponse.
 */
export function parseResponseHead(text: string): ResponseHead {
  const [statusLine = '', ...lines] = text.split(/\r?\n/);
  const match = /^HTTP\/1\.([01]) (\d{3})(?: |$)/.exec(statusLine);
  if (!match) throw new MalformedResponse(`no HTTP/1 status line: ${JSON.stringify(statusLine.slice(0, 40))}`);
  const fields = listFields(lines);
  const connection = (fields.get('connection') ?? '').toLowerCase();
  const statusCode = Number(match[2]);
  const wantsToStay = match[1] === '1' ? !connection.includes('close') : connection.includes('keep-alive');
  return { text, statusCode, ...findBody(statusCode, fields), wantsToStay };
}

function findBody(
  statusCode: number,
  fields: ReadonlyMap<string, string>,
): Pick<ResponseHead, 'framing' | 'contentLength'> {
  if (statusCode < 200 || statusCode === 204 || statusCode === 304) return { framing: 'length', contentLength: 0 };
  const coding = fields.get('transfer-encoding');
  if (coding !== undefined) {
    if (coding.toLowerCase() !== 'chunked')
      throw new MalformedResponse(`a transfer coding that we did not ask for: ${coding}`);
    return { framing: 'chunked', contentLength: 0 };
  }
  const length = fields.get('content-length');
  if (length === undefined) return { framing: 'until-close', contentLength: 0 };
  // Repeated values must be equal (RFC 9110, section 8.6).
  if (!/^(\d{1,15})(?:, *\1)*$/.test(length))
    throw new MalformedResponse(`no length of a body: ${JSON.stringify(length.slice(0, 40))}`);
  return { framing: 'length', contentLength: Number.parseInt(length, 10) };
}

/** Returns the fields by name in lower case; values of a repeated field are joined by commas. */
function listFields(lines: readonly string[]): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (const line of lines) {
    const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):(.*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) {
      throw new MalformedResponse(`no header field: ${JSON.stringify(line.slice(0, 40))}`);
    }
    const key = name.toLowerCase();
    const before = fields.get(key);
    fields.set(key, before === undefined ? trimmed(value) : `${before}, ${trimmed(value)}`);
  }
  return fields;
}

/** Removes the surrounding blanks. A pattern would scan a long run of them repeatedly. */
function trimmed(value: string): string {
  let [start, end] = [0, value.length];
  while (start < end && isBlank(value, start)) start++;
  while (end > start && isBlank(value, end - 1)) end--;
  return value.slice(start, end);
}

const isBlank = (text: string, at: number): boolean => text[at] === ' ' || text[at] === '\t';
