import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { DefaultTheme } from 'vitepress';

type Item = DefaultTheme.SidebarItem;

/**
 * The site's navigation, read from docs/index.md, the one place that lists the pages: its headings are groups, its bold lines groups within them,
 * and its list items pages. Pages in a folder of their own follow the page that the index names of them: `benchmarks/x.md` follows `benchmarks.md`,
 * `decisions/001.md` follows `decisions/README.md`. Errors: a page of `docs` that nothing of this leads to.
 */
export function sidebarOf(docs: string): readonly Item[] {
  const groups: { text: string; items: Item[] }[] = [];
  let items: Item[] = [];
  const listed = new Set<string>();
  for (const line of readFileSync(join(docs, 'index.md'), 'utf8').split('\n')) {
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
      const below = pagesBelow(docs, page);
      for (const each of [page, ...below.map(({ link }) => link)]) listed.add(each);
      const children = below.map((each) => ({ text: each.text, link: addressOf(each.link) }));
      items.push({
        text: text.replaceAll('`', ''),
        link: addressOf(page),
        ...(children.length > 0 && { collapsed: true, items: children }),
      });
    }
  }
  const missing = pagesIn(docs).filter((page) => page !== 'index.md' && !listed.has(page));
  if (missing.length > 0) throw new Error(`docs/index.md does not list ${missing.join(', ')}`);
  return groups;
}

/** The pages in the folder of a page of pages, by their titles. */
function pagesBelow(docs: string, page: string): readonly { readonly text: string; readonly link: string }[] {
  const folder = page.endsWith('/README.md') ? dirname(page) : page.slice(0, -'.md'.length);
  return pagesIn(docs)
    .filter((other) => other !== page && dirname(other) === folder)
    .map((link) => ({ link, text: titleOf(join(docs, link)) }));
}

const titleOf = (path: string): string =>
  (/^# (.+)$/m.exec(readFileSync(path, 'utf8'))?.[1] ?? path).replaceAll('`', '');

const pagesIn = (docs: string): readonly string[] =>
  readdirSync(docs, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && !name.startsWith('.'))
    .sort();

/** Where the site has a page; what GitHub shows of a folder is the folder's index. */
export const addressOf = (page: string): string => `/${page.replace(/(?:README|index)\.md$/, '').replace(/\.md$/, '')}`;
