import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import MiniSearch, { type SearchOptions } from 'minisearch';
import { beforeAll, expect, it } from 'vitest';
import config from '../../docs/.vitepress/config.ts';

const chunks = resolve(import.meta.dirname, '../../dist-docs/assets/chunks');
let index: MiniSearch;

/** The index that the pages load, opened as VitePress's search box opens it. */
beforeAll(async () => {
  const [file] = readdirSync(chunks).filter((name) => name.startsWith('@localSearchIndex'));
  if (file === undefined) throw new Error('there is no index: run npm run docs:build');
  const { default: json } = (await import(join(chunks, file))) as { default: string };
  const search = config.themeConfig?.search;
  if (search?.provider !== 'local') throw new Error('the site has another search');
  index = MiniSearch.loadJSON(json, {
    fields: ['title', 'titles', 'text'],
    storeFields: ['title', 'titles'],
    searchOptions: {
      fuzzy: 0.2,
      prefix: true,
      boost: { title: 4, text: 2, titles: 1 },
      ...(search.options?.miniSearch?.searchOptions as SearchOptions),
    },
  });
});

/** The first pages found, each once. */
const pagesFor = (query: string): readonly string[] => [
  ...new Set(index.search(query).map(({ id }) => /^\/(.*?)(?:\.html)?(?:#|$)/.exec(String(id))?.[1] ?? '')),
];

it.each([
  ['install', 'install'],
  ['npm', 'install'],
  ['docker image', 'install'],
  ['latency budget', 'metrics'],
  ['kill -9', 'production'],
  ['is it safe', 'production'],
  ['SERVER_UNREACHABLE', 'troubleshooting'],
  ['ensemble', 'pipelines'],
  ['vllm', 'language-models'],
  ['model analyzer', 'model-analyzer'],
  ['perf_analyzer', 'coming-from-perf-analyzer'],
  ['how many replicas', 'capacity'],
  ['junit', 'ci'],
  ['glossary', 'glossary'],
])('finds for “%s” first %s', (query, page) => {
  expect(pagesFor(query)[0]).toBe(page);
});

it('finds no generated field before a guide, and no page that is for contributors', () => {
  for (const query of ['latency budget', 'throughput', 'constraint', 'concurrency', 'gain']) {
    expect(
      pagesFor(query)
        .slice(0, 3)
        .filter((page) => page.startsWith('reference/')),
    ).toEqual([]);
  }
  const all = new Set(pagesFor('a e i o u model measured constant decision'));
  for (const page of [
    'reference/journal',
    'reference/summary',
    'constants',
    'architecture',
    'decisions/',
    'benchmarks/trust',
  ])
    expect(all).not.toContain(page);
});
