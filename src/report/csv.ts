/**
 * The content of a cell. null, undefined and numbers that are not finite leave it empty: a missing
 * figure never becomes zero.
 */
export type CsvCell = string | number | null | undefined;

/**
 * Returns rows as CSV (RFC 4180, but for the line end where another is asked for). A text that a
 * spreadsheet would take for a formula gets a quotation mark in front.
 */
export const csvText = (rows: readonly (readonly CsvCell[])[], lineEnd: '\r\n' | '\n' = '\r\n'): string =>
  rows.map((row) => `${row.map(quoted).join(',')}${lineEnd}`).join('');

function quoted(cell: CsvCell): string {
  if (typeof cell === 'number') return Number.isFinite(cell) ? String(cell) : '';
  const text = cell ?? '';
  const safe = /^[=+\-@\t\r]/.test(text) && !Number.isFinite(Number(text)) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
