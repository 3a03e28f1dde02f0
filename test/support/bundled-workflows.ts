import { workerPackages } from '#fleet/temporal/packages.ts';
import { writeBundle } from '#fleet/temporal/workflow-bundle.ts';
import { BUNDLED_CLI } from './cli-program.ts';

/**
 * Bundles the workflows for the bundled command line, as in the package: otherwise, each worker of
 * a test would do so.
 */
export async function setup(): Promise<void> {
  const code = process.env[BUNDLED_CLI];
  if (!code) throw new Error('the command line is bundled first');
  await writeBundle(await workerPackages(), code);
}
