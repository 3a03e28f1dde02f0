import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';

const root = resolve(import.meta.dirname, '..');
const text = (path: string): string => readFileSync(join(root, path), 'utf8');
const { version, scripts } = JSON.parse(text('package.json')) as { version: string; scripts: Record<string, string> };

interface Workflow {
  readonly permissions: unknown;
  readonly jobs: Readonly<
    Record<string, { readonly 'timeout-minutes'?: number; readonly steps: readonly { run?: string; uses?: string }[] }>
  >;
}
const workflows = readdirSync(join(root, '.github/workflows')).map((name) => `.github/workflows/${name}`);

it.each(workflows)('%s runs scripts that exist, with versions, limits and least rights', (path) => {
  const { permissions, jobs } = parse(text(path)) as Workflow;
  expect(permissions).toEqual({ contents: 'read' });
  for (const { steps, 'timeout-minutes': minutes } of Object.values(jobs)) {
    expect(minutes).toBeGreaterThan(0);
    for (const { run = '', uses = 'each/has@v1' } of steps) {
      expect(uses).toMatch(/^[\w-]+\/[\w-]+@v\d+$/);
      for (const [, script] of run.matchAll(/npm run ([\w:-]+)/g)) expect(Object.keys(scripts)).toContain(script);
    }
  }
});

it('the changelog, the release notes and the lock file know this version', () => {
  expect(text('CHANGELOG.md')).toMatch(new RegExp(`^## Unreleased\\n[^]*?^## ${version} – \\d{4}-\\d\\d-\\d\\d$`, 'm'));
  expect(text('docs/release-notes.md')).toContain(`\n## ${version}, `);
  expect((JSON.parse(text('package-lock.json')) as { version: string }).version).toBe(version);
});
