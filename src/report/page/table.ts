import { type Html, html, none } from '../html.ts';

export type TableCell = string | Html;

/** A row, and what sets it apart. */
interface MarkedRow {
  readonly className: string;
  readonly cells: readonly TableCell[];
}

interface Table {
  readonly id?: string;
  readonly className?: string;
  readonly caption?: string;
  readonly heads: readonly string[];
  readonly rows: readonly (readonly TableCell[] | MarkedRow)[];
}

/**
 * Returns a table. A narrow page shows each row as the list of its cells below its first one, each
 * under the name of its column, because columns would be cut off.
 */
export function table({ id = '', className = '', caption, heads, rows }: Table): Html {
  const marked = (row: readonly TableCell[] | MarkedRow): MarkedRow =>
    'cells' in row ? row : { className: '', cells: row };
  const cell = (content: TableCell, index: number): Html => {
    const name = heads[index] ?? '';
    return index === 0
      ? html`<th scope="row" data-name="${name}">${content}</th>`
      : html`<td data-name="${name}">${content}</td>`;
  };
  return html`<div class="scroll"><table${id === '' ? none : html` id="${id}"`} class="${className === '' ? 'rows' : `rows ${className}`}">${caption === undefined ? none : html`<caption>${caption}</caption>`}
<thead><tr>${heads.map((head) => html`<th>${head}</th>`)}</tr></thead>
<tbody>${rows.map(marked).map(({ className: kind, cells }) => html`<tr${kind === '' ? none : html` class="${kind}"`}>${cells.map(cell)}</tr>\n`)}</tbody></table></div>`;
}
