import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { DefaultTheme } from 'vitepress';

type Item = DefaultTheme.SidebarItem;

interface PageList {
  /** The site's navigation. */
  readonly sidebar: readonly Item[];
  /**
   * Pages that are read in the repository only. A page `folder/README.md` stands for all pages in
   * its folder.
   */
  readonly contributors: readonly string[];
}

const LIST = 'pages.md';
const CONTRIBUTORS = 'For contributors';

/**
 * The pages of the site, read from docs/pages.md, the one place that lists them: its headings are
 * groups, its bold lines groups within them, and its list items pages. Those under "For
 * contributors" are no part of the site. Errors: a page of `docs` that is not listed.
 */
export function readPageList(docs: string): PageList {
  const groups: { text: string; items: Item[] }[] = [];
  const contributors: string[] = [];
  let items: Item[] = [];
  const listed = new Set<string>(['index.md', LIST]);
  for (const line of readFileSync(join(docs, LIST), 'utf8').split('\n')) {
    const [, heading] = /^## (.+)$/.exec(line) ?? [];
    const [, subheading] = /^\*\*(.+)\*\*$/.exec(line) ?? [];
    const [, text, page] = /^- \[([^\]]+)\]\(([\w/.-]+\.md)\)/.exec(line) ?? [];
    if (heading !== undefined) {
      items = [];
      groups.push({ text: heading, items });
    } else if (subheading !== undefined) {
      items = [];
      groups.at(-1)?.items.push({ text: subheading, collapsed: false, items });
    } else if (text !== undefined && page !== undefined && !page.startsWith('..')) {
      if (groups.at(-1)?.text === CONTRIBUTORS) contributors.push(...pagesOf(docs, page));
      else items.push({ text: text.replaceAll('`', ''), link: addressOf(page) });
      listed.add(page);
    }
  }
  const missing = pagesIn(docs).filter((page) => !listed.has(page) && !contributors.includes(page));
  if (missing.length > 0) throw new Error(`docs/${LIST} does not list ${missing.join(', ')}`);
  const sidebar = [...groups.filter(({ text }) => text !== CONTRIBUTORS), { text: 'All pages', link: addressOf(LIST) }];
  return { sidebar, contributors };
}

const pagesOf = (docs: string, page: string): readonly string[] =>
  page.endsWith('/README.md') ? pagesIn(docs).filter((other) => dirname(other) === dirname(page)) : [page];

const pagesIn = (docs: string): readonly string[] =>
  readdirSync(docs, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && !name.startsWith('.'))
    .sort();

/** Where the site has a page. */
const addressOf = (page: string): string => `/${page.replace(/\.md$/, '')}`;
