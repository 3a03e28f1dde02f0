import { dirname, join, relative, resolve } from 'node:path';
import type { MarkdownRenderer } from 'vitepress';

type Tokens = Parameters<NonNullable<MarkdownRenderer['renderer']['rules']['text']>>[0];

/** Where the links of a page lead. */
interface Places {
  /** The folder of the pages. */
  readonly docs: string;
  /** Pages that are read in the repository only. */
  readonly elsewhere: readonly string[];
  /** The address of the repository, where it is known. */
  readonly repository: string | null;
}

/** The JSON Schemas, which the site serves beside its pages. */
export const isSchema = (file: string): boolean => /^[\w-]+\.schema\.json$/.test(file);

/**
 * Makes pages that were written for GitHub pages of the site: links to files that the site does not
 * have lead to the repository (without an address of it their words stay, unlinked); braces are no
 * templates; cells know their column; the options of the page of commands have addresses.
 */
export function plainMarkdown(md: MarkdownRenderer, { docs, elsewhere, repository }: Places): void {
  md.core.ruler.push('repository-links', ({ tokens, env }) => {
    const folder = dirname(resolve(docs, env.relativePath));
    for (const { children } of tokens) relink(children ?? [], (href) => addressOf(href, folder));
  });
  md.core.ruler.push('column-names', ({ tokens }) => nameColumns(tokens));
  md.core.ruler.push('option-anchors', ({ tokens, env, Token }) => {
    if (env.relativePath === COMMANDS_PAGE) linkOptions(tokens, (type, tag, nesting) => new Token(type, tag, nesting));
  });
  /** null: nothing that a reader could open. */
  const addressOf = (href: string, folder: string): string | null => {
    const [path = '', fragment] = href.split('#');
    if (path === '' || /^\w+:/.test(path)) return href;
    const target = relative(docs, resolve(folder, path));
    if (isSchema(target)) return `/${target}`;
    if (!target.startsWith('..') && target.endsWith('.md') && !elsewhere.includes(target)) return href;
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

/** The page of the commands, whose items are options. */
export const COMMANDS_PAGE = 'cli.md';

/** Makes the name of each option a link to itself: `--seed` of `tritune tune` is `#tune--seed`. */
function linkOptions(tokens: Tokens, tokenOf: (type: string, tag: string, nesting: 1 | -1) => Tokens[number]): void {
  let command = '';
  for (const [index, token] of tokens.entries()) {
    const { type, content, children } = token;
    const before = tokens[index - 1];
    if (before?.type === 'heading_open' && before.tag === 'h2')
      command = content.replace(/^tritune /, '').replaceAll(' ', '-');
    if (type !== 'inline' || children === null) continue;
    const [, option] = /^`(?:-\w, )?(--[\w-]+)/.exec(content) ?? [];
    const [name, ...rest] = children;
    if (option === undefined || name === undefined || tokens[index - 2]?.type !== 'list_item_open') continue;
    const open = tokenOf('link_open', 'a', 1);
    const id = `${command}${option}`;
    open.attrSet('href', `#${id}`);
    open.attrSet('id', id);
    token.children = [open, name, tokenOf('link_close', 'a', -1), ...rest];
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
