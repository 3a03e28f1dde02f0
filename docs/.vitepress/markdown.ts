import { dirname, join, relative, resolve } from 'node:path';
import type { MarkdownRenderer } from 'vitepress';

type Tokens = Parameters<NonNullable<MarkdownRenderer['renderer']['rules']['text']>>[0];

/**
 * Makes pages that were written for GitHub pages of the site: links to files outside `docs`, and to files that are no pages, lead to the repository
 * (without an address of it their words stay, unlinked); braces are no templates; cells know their column.
 */
export function plainMarkdown(md: MarkdownRenderer, docs: string, repository: string | null): void {
  md.core.ruler.push('repository-links', ({ tokens, env }) => {
    const folder = dirname(resolve(docs, env.relativePath));
    for (const { children } of tokens) relink(children ?? [], (href) => addressOf(href, folder));
  });
  md.core.ruler.push('column-names', ({ tokens }) => nameColumns(tokens));
  /** null: nothing that a reader could open. */
  const addressOf = (href: string, folder: string): string | null => {
    const [path = '', fragment] = href.split('#');
    if (path === '' || /^\w+:/.test(path)) return href;
    const target = relative(docs, resolve(folder, path));
    if (!target.startsWith('..') && target.endsWith('.md')) return href.replace('README.md', 'index.md');
    return (
      repository && `${repository}/blob/main/${join('docs', target)}${fragment === undefined ? '' : `#${fragment}`}`
    );
  };
  for (const name of ['text', 'code_inline', 'fence'] as const) {
    const rule = md.renderer.rules[name];
    if (rule) md.renderer.rules[name] = (...token) => withoutTemplates(rule(...token));
  }
}

/** The template compiler takes two braces for the start of an expression, but not their names. */
const withoutTemplates = (html: string): string => html.replaceAll('{{', '&#123;&#123;');

/** Gives each cell of a table the name of its column, which a phone shows beside it. */
function nameColumns(tokens: Tokens): void {
  let [names, column]: [string[], number] = [[], 0];
  for (const [index, token] of tokens.entries()) {
    if (token.type === 'table_open') names = [];
    if (token.type === 'tr_open') column = 0;
    if (token.type === 'th_open') names.push(tokens[index + 1]?.content ?? '');
    if (token.type === 'td_open') token.attrSet('data-column', names[column++] ?? '');
  }
}

/** Gives links their address on the site; one without becomes a span, which keeps its words. */
function relink(tokens: Tokens, addressOf: (href: string) => string | null): void {
  let tag = 'a';
  for (const token of tokens) {
    if (token.type === 'link_open') {
      const address = addressOf(token.attrGet('href') ?? '');
      tag = address === null ? 'span' : 'a';
      if (address === null) token.attrs = [];
      else token.attrSet('href', address);
    }
    if (token.type === 'link_open' || token.type === 'link_close') token.tag = tag;
  }
}
