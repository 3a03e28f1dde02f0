import { readFile, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Logger, WorkflowBundleOption } from '@temporalio/worker';
import { makeFolder } from '#base/make-folder.ts';
import { codeFolder, entryPath } from '#base/package.ts';
import { failureConverterPath } from './connection.ts';
import type { WorkerPackages } from './packages.ts';

/** The folder of the workflows in a folder of code. */
const WORKFLOWS = 'fleet/workflow';

/**
 * Returns the workflows in the form that runs in the SDK's sandbox: as they were bundled with the
 * package for this version of the SDK, or else bundled now, which takes some seconds of CPU.
 */
export async function workflowBundle(packages: WorkerPackages, logger?: Logger): Promise<WorkflowBundleOption> {
  const codePath = join(codeFolder, WORKFLOWS, await bundleName());
  const isBuilt = await stat(codePath).then(
    () => true,
    () => false,
  );
  return isBuilt ? { codePath } : bundleNow(packages, logger);
}

/** Bundles the workflows beside this file. */
export const bundleNow = ({ worker: sdk }: Pick<WorkerPackages, 'worker'>, logger?: Logger) =>
  sdk.bundleWorkflowCode({
    workflowsPath: entryPath(`${WORKFLOWS}/workflows`),
    failureConverterPath,
    ...(logger && { logger }),
  });

/**
 * Writes the bundle to the folder of the code that a package consists of, where `workflowBundle`
 * looks for it.
 */
export async function writeBundle(packages: WorkerPackages, code: string): Promise<void> {
  const folder = join(code, WORKFLOWS);
  await makeFolder(folder);
  await writeFile(join(folder, await bundleName()), (await bundleNow(packages)).code);
}

/**
 * Returns the name of the bundle for the SDK that is installed: another version may need another
 * one.
 */
async function bundleName(): Promise<string> {
  const manifest = createRequire(import.meta.url).resolve('@temporalio/worker/package.json');
  const { version } = JSON.parse(await readFile(manifest, 'utf8')) as { version: string };
  return `bundle-for-${version}.js`;
}
