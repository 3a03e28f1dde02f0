import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { cliProgram } from '../support/cli-program.ts';
import { freshDirectory } from '../support/run-directory.ts';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };

interface Workflow {
  readonly jobs: Readonly<Record<string, { readonly steps: readonly { readonly run?: string }[] }>>;
}

it('documents a workflow whose dry run works as it stands', { timeout: 180_000 }, async () => {
  const page = await readFile(join(root, 'docs/ci.md'), 'utf8');
  const [text] = [...page.matchAll(/```yaml\n(.*?)```/gs)].map((match) => match[1] as string);
  const steps = (parse(text as string) as Workflow).jobs['dry-run']?.steps.flatMap((step) => step.run ?? []) ?? [];
  expect(steps).toHaveLength(3);
  const directory = await freshDirectory();
  // What npm would install, and npx find, is this checkout.
  for (const [name, script] of [
    ['npm', `echo "$@" >${directory}/installed`],
    ['npx', `shift\nexec ${process.execPath} ${cliProgram('main')} "$@"`],
  ] as const) {
    await writeFile(join(directory, name), `#!/bin/sh\n${script}\n`);
    await chmod(join(directory, name), 0o755);
  }
  const env = {
    ...process.env,
    PATH: `${directory}:${process.env.PATH}`,
    GITHUB_STEP_SUMMARY: join(directory, 'summary.md'),
    GITHUB_ACTIONS: 'true',
  };
  const runSteps = async (): Promise<void> => {
    for (const step of steps) await run('bash', ['-eo', 'pipefail', '-c', step], { cwd: directory, env });
  };
  // Beside other tests one of the two measurements may be slower than the tolerance allows.
  await runSteps().catch(runSteps).catch(runSteps);
  expect(await readFile(join(directory, 'summary.md'), 'utf8')).toMatch(
    /^### (✅ tritune: passed: no regression in|❔ tritune: inconclusive: )/u,
  );
  expect(await readFile(join(directory, 'installed'), 'utf8')).toBe(
    `install --no-save ./tools/tritune-${version}.tgz\n`,
  );
  expect(await readFile(join(directory, 'gate.xml'), 'utf8')).toMatch(/tests="2" failures="0" skipped="[012]"/);
});
