import { expect, it } from 'vitest';
import type { TritonClient } from '#triton/types.ts';
import { runHere } from '../faults/own-stage.ts';

/** A server with a BLS model `front` that calls `called`, all of them loaded. */
export interface BlsServer {
  readonly url: string;
  readonly client: TritonClient;
  readonly front: string;
  readonly called: readonly string[];
  /**
   * What they are found from: the statistics, or traces where the server writes them to this
   * machine.
   */
  readonly from: string;
}

/** How the calls of BLS models are found: the same of a real Triton and of the emulator. */
export function blsCallsSuite(start: () => Promise<BlsServer>): void {
  const lineOf = ({ front, called, from }: BlsServer) =>
    `${front} calls ${called.join(' and ')} (found from ${from} of 5 requests); --bls-composing names them by hand`;
  const plan = ({ url, client, front }: BlsServer, ...more: string[]) =>
    runHere(['tune', '-m', front, '-u', url, '-i', client.protocol, '--dry-run', ...more]);

  it('are found by a few requests, also where they are not loaded, and nothing stays changed', async () => {
    const server = await start();
    const { client, called } = server;
    const settings = await client.traceSettings();
    const all = await plan(server);
    expect([all.code, all.stdout.split('\n')[0]]).toEqual([0, lineOf(server)]);
    for (const model of called) expect(all.stdout).toContain(`valid candidates for model '${model}'`);
    for (const model of called) await client.unload(model);
    const without = await plan(server);
    expect([without.code, without.stdout.split('\n')[0]]).toEqual([0, lineOf(server)]);
    await expect.poll(() => Promise.all(called.map((model) => client.modelReady(model)))).not.toContain(true);
    for (const model of called) await client.load(model);
    expect(await client.traceSettings()).toEqual(settings);
  });

  it('are not looked for where somebody says that there are none', async () => {
    const server = await start();
    const { front, called } = server;
    const none = await plan(server, '--bls-composing', 'none');
    expect(none).toMatchObject({ code: 0, stdout: expect.stringContaining(`valid candidates for model '${front}'`) });
    for (const model of called) expect(none.stdout).not.toContain(`for model '${model}'`);
  });
}
