import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { readPageList } from '../../docs/.vitepress/pages.ts';

async function folderOf(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tritune-docs-'));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  return folder;
}

const list = [
  '# All pages\n\n## Guides\n\n**Tune**\n- [`tritune profile`](profile.md): how?\n\n## Reference\n',
  '- [Results](results.md): which?\n\n## For contributors\n',
  '- [Decisions](decisions/README.md): why?\n- [Plan](plan.md): what?\n- [Security](../SECURITY.md): what?',
].join('\n');
const pages = {
  'index.md': '',
  'profile.md': '# P',
  'results.md': '# R',
  'plan.md': '',
  'decisions/README.md': '',
  'decisions/1.md': '# One',
};

it('makes the navigation from the list of pages, and keeps those for contributors out of it, with their folders', async () => {
  expect(readPageList(await folderOf({ 'pages.md': list, ...pages }))).toEqual({
    sidebar: [
      {
        text: 'Guides',
        items: [{ text: 'Tune', collapsed: false, items: [{ text: 'tritune profile', link: '/profile' }] }],
      },
      { text: 'Reference', items: [{ text: 'Results', link: '/results' }] },
      { text: 'All pages', link: '/pages' },
    ],
    contributors: ['decisions/1.md', 'decisions/README.md', 'plan.md'],
  });
});

it('names the pages that are in no list', async () => {
  const folder = await folderOf({ 'pages.md': list, ...pages, 'lost.md': '', 'elsewhere/x.md': '' });
  expect(() => readPageList(folder)).toThrow('docs/pages.md does not list elsewhere/x.md, lost.md');
});
