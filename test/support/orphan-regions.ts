import { openRegions } from '#loadgen/shared-memory/open-regions.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { sharedInputs } from './shared-inputs.ts';

/**
 * Registers shared memory for a model, and ends as soon as it is sent anything:
 * `node orphan-regions.ts HOST:PORT MODEL [cuda]`.
 */
const [url, model, kind] = process.argv.slice(2) as [string, string, string?];
const memory = kind === 'cuda' ? ({ kind, device: 0 } as const) : undefined;
const client = connectGrpc(url);
const input = { name: 'any', datatype: 'FP32', shape: [1], raw: new Uint8Array(4) };
const requests = { model, version: '', batch: 1, requests: [{ model, version: '', batch: 1, inputs: [input] }] };
const config = await client.modelConfig(model);
await openRegions(client, {
  inputs: [sharedInputs(requests)],
  config,
  maxInFlight: 4,
  unknownOutputBytes: 1000,
  memory,
});
process.stdin.once('data', () => process.exit(130));
process.stdout.write('registered\n');
