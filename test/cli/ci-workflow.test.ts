import { execFile } from 'node:child_process';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { freshDirectory } from '../support/cli.ts';
import { cliProgram } from '../support/cli-program.ts';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');

interface Workflow {
  readonly jobs: Readonly<Record<string, { readonly steps: readonly { readonly run?: string }[] }>>;
}

it('documents a workflow whose dry run works as it stands', { timeout: 90_000 }, async () => {
  const page = await readFile(join(root, 'docs/ci.md'), 'utf8');
  const [text] = [...page.matchAll(/```yaml\n(.*?)```/gs)].map((match) => match[1] as string);
  const steps = (parse(text as string) as Workflow).jobs['dry-run']?.steps.flatMap((step) => step.run ?? []) ?? [];
  expect(steps).toHaveLength(2);
  const directory = await freshDirectory();
  // What npx would fetch is this checkout.
  await writeFile(join(directory, 'npx'), `#!/bin/sh\nshift\nexec ${process.execPath} ${cliProgram('main')} "$@"\n`);
  await chmod(join(directory, 'npx'), 0o755);
  const env = {
    ...process.env,
    PATH: `${directory}:${process.env.PATH}`,
    GITHUB_STEP_SUMMARY: join(directory, 'summary.md'),
    GITHUB_ACTIONS: 'true',
  };
  for (const step of steps) await run('bash', ['-eo', 'pipefail', '-c', step], { cwd: directory, env });
  expect(await readFile(join(directory, 'summary.md'), 'utf8')).toMatch(
    /^### (✅|⚠️) tritune: no regression in 2 figures/u,
  );
  expect(await readFile(join(directory, 'gate.xml'), 'utf8')).toMatch(/tests="2" failures="0"/);
});
