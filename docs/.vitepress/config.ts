import { resolve } from 'node:path';
import { slug } from 'github-slugger';
import { defineConfig } from 'vitepress';
import { plainMarkdown } from './markdown.ts';
import { sidebarOf } from './pages.ts';
import { repositoryAddress } from './repository.ts';

const docs = resolve(import.meta.dirname, '..');
const repository = repositoryAddress();

/** VitePress 2, an alpha whose version is pinned, because it shares Vite 8 with vitest; VitePress 1 would bring a Vite 5 of its own. */
export default defineConfig({
  title: 'tritune',
  description: 'Finds the fastest configuration of a model on NVIDIA Triton Inference Server within a latency budget',
  // The site works in any folder of a host.
  base: process.env.DOCS_BASE ?? '/',
  // No picture in the tab, rather than a request for one that is not there.
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  outDir: '../dist-docs',
  // Their tables are wide, and read otherwise on a phone (theme/style.css).
  transformPageData: ({ relativePath, frontmatter }) =>
    relativePath.startsWith('reference/') ? { frontmatter: { ...frontmatter, pageClass: 'reference' } } : undefined,
  rewrites: { ':folder/README.md': ':folder/index.md' },
  markdown: {
    // Pages are Markdown only: what looks like a tag is the name of a value.
    html: false,
    // The same names of headings as on GitHub.
    anchor: { slugify: (text) => slug(text) },
    config: (md) => plainMarkdown(md, docs, repository),
  },
  themeConfig: {
    sidebar: [...sidebarOf(docs)],
    search: { provider: 'local' },
    outline: [2, 3],
    ...(repository && { socialLinks: [{ icon: 'github', link: repository }] }),
  },
});
