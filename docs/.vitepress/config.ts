import { copyFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { slug } from 'github-slugger';
import { defineConfig } from 'vitepress';
import { COMMANDS_PAGE, isSchema, plainMarkdown } from './markdown.ts';
import { readPageList } from './pages.ts';
import { repositoryAddress } from './repository.ts';

const docs = resolve(import.meta.dirname, '..');
const repository = repositoryAddress();
const { sidebar, contributors } = readPageList(docs);
/**
 * Thousands of words of generated fields, which every search would find first; the list of all
 * pages; and the home page, which names what each of them is about.
 */
const OUT_OF_SEARCH = ['reference/journal.md', 'reference/summary.md', 'reference/profile.md', 'pages.md', 'index.md'];

/**
 * VitePress 2, an alpha whose version is pinned, because it shares Vite 8 with vitest; VitePress 1
 * would bring a Vite 5 of its own.
 */
export default defineConfig({
  title: 'tritune',
  description: 'Finds the fastest configuration of a model on NVIDIA Triton Inference Server within a latency budget',
  // The site works in any folder of a host.
  base: process.env.DOCS_BASE ?? '/',
  // No picture in the tab, rather than a request for one that is not there.
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  outDir: '../dist-docs',
  srcExclude: [...contributors],
  transformPageData: ({ relativePath, frontmatter }) => {
    // Their tables are wide, and read otherwise on a phone (theme/style.css).
    if (relativePath.startsWith('reference/')) return { frontmatter: { ...frontmatter, pageClass: 'reference' } };
    // Each command has many groups.
    if (relativePath === COMMANDS_PAGE) return { frontmatter: { ...frontmatter, outline: 2 } };
  },
  buildEnd: ({ outDir }) => {
    for (const file of readdirSync(docs).filter(isSchema)) copyFileSync(join(docs, file), join(outDir, file));
  },
  markdown: {
    // Pages are Markdown only: what looks like a tag is the name of a value.
    html: false,
    // The same names of headings as on GitHub.
    anchor: { slugify: (text) => slug(text) },
    config: (md) => plainMarkdown(md, { docs, elsewhere: contributors, repository }),
  },
  themeConfig: {
    nav: [
      { text: 'Install', link: '/install' },
      { text: 'Tutorial', link: '/tutorial' },
      { text: 'Commands', link: '/cli' },
      { text: 'All pages', link: '/pages' },
    ],
    sidebar: [...sidebar],
    search: {
      provider: 'local',
      options: {
        _render: async (source, env, md) =>
          OUT_OF_SEARCH.includes(env.relativePath) ? '' : await md.renderAsync(source, env),
        miniSearch: {
          searchOptions: {
            // Runs in the browser, alone: guides before explanations, both before what is printed
            // from the code, and pages before their parts.
            boostDocument: (id: string) => {
              const part = id.includes('#') ? 0.7 : 1;
              if (/\/(?:reference\/|cli\.)/.test(id)) return part * 0.3;
              if (/\/(?:benchmarks|glossary|release-notes|reliability|served-model|search)\./.test(id))
                return part * 0.5;
              return part * (id.includes('/coming-from-aiperf') ? 0.5 : 1);
            },
          },
        },
      },
    },
    outline: [2, 3],
    ...(repository && { socialLinks: [{ icon: 'github', link: repository }] }),
  },
});
