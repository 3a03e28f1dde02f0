import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { createDataConverter } from '#fleet/temporal/connection.ts';
import { workerPackages } from '#fleet/temporal/packages.ts';
import { bundleNow } from '#fleet/temporal/workflow-bundle.ts';

/**
 * The histories of a study of tritune 0.2.0 over two servers, which began anew twice
 * (`bench/fleet-history.ts`).
 */
const fixture = resolve(import.meta.dirname, '../../fixtures/histories/fleet-0.2.0.json.gz');

it('continues studies that an earlier version began', async () => {
  const { worker: sdk } = await workerPackages();
  sdk.Runtime.install({ shutdownSignals: [], logger: new sdk.DefaultLogger('ERROR') });
  const histories = JSON.parse(gunzipSync(await readFile(fixture)).toString()) as unknown[];
  expect(histories.length).toBeGreaterThan(1);
  const packages = await workerPackages();
  const options = {
    workflowBundle: await bundleNow(packages),
    dataConverter: createDataConverter({ address: '', namespace: '', payloadKey: null }),
  };
  // Fails where the workflow would do something else than it did then.
  for (const history of histories) await sdk.Worker.runReplayHistory(options, history, 'scale');
});
