import { join } from 'node:path';
import { workerPackages } from '#fleet/temporal/packages.ts';
import { writeBundle } from '#fleet/temporal/workflow-bundle.ts';

/**
 * Bundles the workflows of a fleet into the package, so that a worker need not at its start: node
 * .ci/bundle-workflows.ts.
 */
await writeBundle(await workerPackages(), join(import.meta.dirname, '..', 'dist'));
