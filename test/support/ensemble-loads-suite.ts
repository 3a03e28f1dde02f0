import { describe, expect, it } from 'vitest';
import type { TritonClient } from '#triton/types.ts';

/** A server with an ensemble and another model, all loaded with their stored configs. */
export interface EnsembleServer {
  readonly client: TritonClient;
  /** Sends one sample to the ensemble; gives the server's words when it fails, or ''. */
  infer(): Promise<string>;
  readonly ensemble: string;
  /** A model of the ensemble with one instance on the CPU. */
  readonly member: string;
  /** Another model of the ensemble. */
  readonly neighbour: string;
  /** A model that has nothing to do with it. */
  readonly stranger: string;
}

/**
 * What becomes of an ensemble while its models are loaded: the same of a real Triton and of the
 * emulator.
 */
export function ensembleLoadsSuite(name: string, start: () => Promise<EnsembleServer>): void {
  async function begin() {
    const server = await start();
    const { client, ensemble, member } = server;
    const config = await client.modelConfig(member);
    const count = async (model: string): Promise<number> => (await client.statistics(model))[0]?.inferenceCount ?? -1;
    /** Sends so many and waits until they are counted, which is just after their answers. */
    const send = async (requests: number): Promise<void> => {
      const before = await count(ensemble);
      for (let index = 0; index < requests; index++) expect(await server.infer()).toBe('');
      await expect.poll(() => count(ensemble)).toBe(before + requests);
    };
    return { ...server, config, count, send };
  }

  describe(name, () => {
    it.each(['in place', 'anew'])(
      'a member loaded %s starts its statistics again, and no request fails',
      async (how) => {
        const { client, ensemble, member, neighbour, config, infer, count, send } = await begin();
        await send(3);
        const [own, others] = [await count(ensemble), await count(neighbour)];
        let isOver = false;
        const failures: string[] = [];
        const traffic = async (): Promise<void> => {
          while (!isOver) failures.push(await infer());
        };
        const running = [traffic(), traffic()];
        const instances = { ...config, instance_group: [{ count: 2, kind: 'KIND_CPU' as const }] };
        await client.load(
          member,
          how === 'anew' ? { ...config, parameters: { ...config.parameters, NEW: {} } } : instances,
        );
        isOver = true;
        await Promise.all(running);
        expect(failures.filter((words) => words !== '')).toEqual([]);
        expect(await count(ensemble)).toBeLessThan(own);
        expect(await count(neighbour)).toBeGreaterThanOrEqual(others);
        await client.load(member, config);
      },
    );

    it('later loads of other models do so too, until the ensemble itself is loaded', async () => {
      const { client, ensemble, member, stranger, config, count, send } = await begin();
      await client.load(member, config);
      await send(1);
      await client.load(stranger);
      expect(await count(ensemble)).toBe(0);
      await client.load(ensemble);
      await send(1);
      await client.load(stranger);
      expect(await count(ensemble)).toBe(1);
    });

    it('a member that does not fit is loaded, and the ensemble is away until it fits', async () => {
      const { client, ensemble, member, config, infer } = await begin();
      await client.load(member, { ...config, max_batch_size: 2, dynamic_batching: undefined });
      expect(await client.modelReady(member)).toBe(true);
      expect(await client.modelReady(ensemble)).toBe(false);
      expect(await infer()).toBe(`Request for unknown model: '${ensemble}' has no available versions`);
      await expect(client.load(ensemble)).rejects.toMatchObject({
        message: expect.stringContaining(`contains model ${member} which only allows maximum batch size to be 2`),
      });
      await client.load(member, config);
      expect(await infer()).toBe('');
    });

    it('it goes and comes with its members, not after it was unloaded itself, and leaves their configs alone', async () => {
      const { client, ensemble, member, config, infer } = await begin();
      await client.unload(member);
      expect(await client.modelReady(ensemble)).toBe(false);
      await client.load(member, { ...config, max_batch_size: (config.max_batch_size ?? 0) * 2 });
      expect(await infer()).toBe('');
      await client.unload(ensemble);
      await client.load(member, { ...config, max_batch_size: (config.max_batch_size ?? 0) * 3 });
      expect(await client.modelReady(ensemble)).toBe(false);
      await client.load(ensemble);
      expect(await infer()).toBe('');
      expect((await client.modelConfig(member)).max_batch_size).toBe((config.max_batch_size ?? 0) * 3);
      await client.load(member, config);
    });
  });
}
