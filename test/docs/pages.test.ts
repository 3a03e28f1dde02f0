import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { sidebarOf } from '../../docs/.vitepress/pages.ts';

async function folderOf(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tritune-docs-'));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  return folder;
}

const index = [
  '# Documentation\n\n## Guides\n\n**Tune**\n- [`tritune profile`](profile.md): how?\n\n## Reference\n',
  '- [Results](results.md): which?\n- [Decisions](decisions/README.md): why?\n- [Security](../SECURITY.md): what?',
].join('\n');
const below = {
  'results/b.md': '# B `b`',
  'results/a.md': '# A',
  'decisions/README.md': '',
  'decisions/1.md': '# One',
};
const pages = { 'profile.md': '# P', 'results.md': '# R', ...below };

it('makes the navigation from the list of pages, with the pages of a folder below its own page', async () => {
  const folded = (items: readonly object[]) => ({ collapsed: true, items });
  expect(sidebarOf(await folderOf({ 'index.md': index, ...pages }))).toEqual([
    {
      text: 'Guides',
      items: [{ text: 'Tune', collapsed: false, items: [{ text: 'tritune profile', link: '/profile' }] }],
    },
    {
      text: 'Reference',
      items: [
        {
          text: 'Results',
          link: '/results',
          ...folded([
            { text: 'A', link: '/results/a' },
            { text: 'B b', link: '/results/b' },
          ]),
        },
        { text: 'Decisions', link: '/decisions/', ...folded([{ text: 'One', link: '/decisions/1' }]) },
      ],
    },
  ]);
});

it('names the pages that are in no list', async () => {
  const folder = await folderOf({ 'index.md': index, ...pages, 'lost.md': '', 'elsewhere/x.md': '' });
  expect(() => sidebarOf(folder)).toThrow('docs/index.md does not list elsewhere/x.md, lost.md');
});
