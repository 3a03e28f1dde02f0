/** The rows of a CSV text (RFC 4180) by the names of its first line; empty lines are left out. */
export function csvRows(text: string): Record<string, string>[] {
  const [header = [], ...rows] = cellsOf(text).filter((cells) => cells.some((cell) => cell !== ''));
  return rows.map((cells) =>
    Object.fromEntries(header.map((name, index) => [name.trim(), (cells[index] ?? '').trim()])),
  );
}

function cellsOf(text: string): string[][] {
  const rows: string[][] = [[]];
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/g)) {
    rows.at(-1)?.push(quoted?.replaceAll('""', '"') ?? plain ?? '');
    if (end === '') break;
    if (end !== ',') rows.push([]);
  }
  return rows;
}
