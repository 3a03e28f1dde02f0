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
    Record<
      string,
      {
        readonly 'timeout-minutes'?: number;
        readonly container?: { readonly image: string };
        readonly steps: readonly { run?: string; uses?: string; with?: Readonly<Record<string, unknown>> }[];
      }
    >
  >;
}
/** A tag can be moved to other contents; a digest cannot. */
const PINNED_IMAGE = /^[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}$/;
const workflows = readdirSync(join(root, '.github/workflows')).map((name) => `.github/workflows/${name}`);

it.each(workflows)('%s runs scripts that exist, with versions, limits and least rights', (path) => {
  const { permissions, jobs } = parse(text(path)) as Workflow;
  expect(permissions).toEqual({ contents: 'read' });
  for (const { steps, container, 'timeout-minutes': minutes } of Object.values(jobs)) {
    expect(minutes).toBeGreaterThan(0);
    if (container) expect(container.image).toMatch(PINNED_IMAGE);
    for (const { run = '', uses } of steps) {
      if (uses) expect(uses).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/);
      for (const [, script] of run.matchAll(/npm run ([\w:-]+)/g)) expect(Object.keys(scripts)).toContain(script);
    }
  }
});

it('names the version of each pinned action, which Dependabot keeps true', () => {
  for (const line of workflows.flatMap((path) => text(path).split('\n')).filter((line) => line.includes('uses:')))
    expect(line).toMatch(/@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
});

it('the release uses no cache', () => {
  const { jobs } = parse(text('.github/workflows/release.yml')) as Workflow;
  for (const { uses = '', with: inputs } of Object.values(jobs).flatMap(({ steps }) => steps)) {
    expect(uses).not.toMatch(/^actions\/cache@/);
    if (uses.startsWith('actions/setup-node@')) expect(inputs).toMatchObject({ 'package-manager-cache': false });
    expect(inputs ?? {}).not.toHaveProperty('cache');
  }
});

it('builds its image, and starts Temporal, from images by digest', () => {
  const bases = text('Dockerfile').matchAll(/^FROM (\S+)/gm);
  const temporal = /TEMPORAL_IMAGE:-(\S+)\}/.exec(text('deploy/compose.yaml'))?.[1];
  for (const image of [...[...bases].map(([, image]) => image), temporal]) expect(image).toMatch(PINNED_IMAGE);
});

it('the changelog, the release notes and the lock file know this version', () => {
  expect(text('CHANGELOG.md')).toMatch(new RegExp(`^## Unreleased\\n[^]*?^## ${version} – \\d{4}-\\d\\d-\\d\\d$`, 'm'));
  expect(text('docs/release-notes.md')).toContain(`\n## ${version}, `);
  expect((JSON.parse(text('package-lock.json')) as { version: string }).version).toBe(version);
});
