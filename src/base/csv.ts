/**
 * Returns the rows of a CSV text (RFC 4180) by the names of its first line, without empty lines.
 */
export function csvRows(text: string): Record<string, string>[] {
  const [header = [], ...rows] = splitCells(text).filter((cells) => cells.some((cell) => cell !== ''));
  return rows.map((cells) =>
    Object.fromEntries(header.map((name, index) => [name.trim(), (cells[index] ?? '').trim()])),
  );
}

/** Returns the cells of one line, without surrounding blanks. */
export function csvCells(line: string): readonly string[] {
  const cells = line.includes('"') ? (splitCells(line)[0] as string[]) : line.split(',');
  return cells.map((cell) => cell.trim());
}

/**
 * Moves from one delimiter to the next: every character is read once, even with quoted or unclosed
 * cells.
 */
function splitCells(text: string): string[][] {
  const rows: string[][] = [[]];
  const delimiter = /,|\r?\n|$/g;
  for (let at = 0; ; at = delimiter.lastIndex) {
    const { cell, end } = cellAt(text, at);
    delimiter.lastIndex = end;
    const [separator] = delimiter.exec(text) as RegExpExecArray;
    // Text after the closing quote does not belong to the cell.
    rows.at(-1)?.push(cell ?? text.slice(at, delimiter.lastIndex - separator.length));
    if (separator === '') return rows;
    if (separator !== ',') rows.push([]);
  }
}

/**
 * Returns a quoted cell, and its end; no cell for a plain one, which ends at the next delimiter.
 */
function cellAt(text: string, from: number): { readonly cell?: string; readonly end: number } {
  if (text[from] !== '"') return { end: from };
  const parts: string[] = [];
  let at = from + 1;
  for (;;) {
    const quote = text.indexOf('"', at);
    if (quote < 0) return { cell: [...parts, text.slice(at)].join('"'), end: text.length };
    parts.push(text.slice(at, quote));
    if (text[quote + 1] !== '"') return { cell: parts.join('"'), end: quote + 1 };
    at = quote + 2;
  }
}
