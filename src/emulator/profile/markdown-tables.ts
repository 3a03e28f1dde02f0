/** A table of a Markdown document, with rows keyed by the names in its header. */
export interface MarkdownTable {
  readonly header: readonly string[];
  readonly rows: readonly Readonly<Record<string, string>>[];
}

const RULE = /^:?-+:?$/;

/**
 * Returns the tables of a text in order, in the pipe form of GitHub's Markdown: a header, a rule,
 * and rows up to the first line without a pipe.
 */
export function markdownTables(text: string): readonly MarkdownTable[] {
  const lines = text.split(/\r?\n/).map(findCells);
  return lines.flatMap((cells, index): MarkdownTable[] => {
    const header = lines[index - 1];
    if (!header || !cells || cells.length !== header.length || !cells.every((cell) => RULE.test(cell))) return [];
    const rest = lines.slice(index + 1);
    const end = rest.indexOf(null);
    const rows = rest.slice(0, end < 0 ? rest.length : end) as (readonly string[])[];
    return [{ header, rows: rows.map((row) => Object.fromEntries(header.map((name, at) => [name, row[at] ?? '']))) }];
  });
}

/** Returns the cells of a line that begins with a pipe; null for any other. */
function findCells(line: string): readonly string[] | null {
  const text = line.trim();
  if (!text.startsWith('|')) return null;
  const cells = text.slice(1).split(/(?<!\\)\|/);
  if (cells.at(-1)?.trim() === '') cells.pop();
  return cells.map((cell) => cell.trim().replaceAll('\\|', '|'));
}
