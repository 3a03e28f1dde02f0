import { describe, expect, it } from 'vitest';
import { createControl } from '#adapter/triton/control.ts';
import { realClock } from '#base/clock.ts';
import { buildJoint } from '#space/joint/build-joint.ts';
import { joinSpaces, jointOriginal } from '#space/joint/joint-space.ts';
import { spaceFromJson } from '#space/source/load.ts';
import type { Assignment, Candidate } from '#space/types.ts';
import { compareConfigs } from '#triton/config/comparison.ts';
import type { EnsembleServer } from './ensemble-loads-suite.ts';

const never = new AbortController().signal;

/** How a pipeline is changed and put back: the same of a real Triton and of the emulator. */
export function ensembleControlSuite(name: string, start: () => Promise<EnsembleServer>): void {
  async function begin() {
    const server = await start();
    const { client, ensemble, member, neighbour } = server;
    const [own, other, whole] = await Promise.all(
      [member, neighbour, ensemble].map((each) => client.modelConfig(each)),
    );
    if (!own || !other || !whole) throw new Error('the server has no such models');
    const most = whole.max_batch_size ?? 0;
    const parameters = { instances: [1, 2, 3], max_batch_size: [1, most, 2 * most, 1000], kind: KINDS };
    const original = jointOriginal({ [member]: own, [neighbour]: other }, { [ensemble]: whole }, ensemble);
    const spaces = { [member]: spaceFromJson({ parameters }), [neighbour]: spaceFromJson({ parameters }) };
    const joint = joinSpaces(spaces, original, ensemble);
    const originals = [own, other, whole].map((config) => ({ model: config.name ?? '', config, wasLoaded: true }));
    const options = { clock: realClock, restore: 'config', loadTimeoutMs: 60_000, settleTimeoutMs: 60_000 } as const;
    const control = createControl(client, originals, { ...options, mayUnload: true });
    const candidate = (assignment: Assignment): Candidate => {
      const outcome = buildJoint(joint, assignment);
      if (!outcome.legal) throw new Error(outcome.reason);
      return outcome.candidate;
    };
    const count = async (model: string): Promise<number> => (await client.statistics(model))[0]?.inferenceCount ?? -1;
    return { ...server, control, candidate, original, count, most, originals };
  }

  describe(name, () => {
    it('is changed without a request that fails, in any direction, and put back', async () => {
      const { client, ensemble, member, neighbour, control, candidate, infer, most, originals } = await begin();
      let isOver = false;
      const failures: string[] = [];
      const traffic = async (): Promise<void> => {
        while (!isOver) failures.push(await infer());
      };
      const running = [traffic(), traffic()];
      const batches = async () =>
        Promise.all([member, neighbour, ensemble].map(async (each) => (await client.modelConfig(each)).max_batch_size));
      try {
        const small = { [`${member}/max_batch_size`]: 1, [`${neighbour}/max_batch_size`]: most };
        await control.apply(candidate(small), never);
        expect(await batches()).toEqual([1, most, 1]);
        await control.apply(candidate({ ...small, [`${member}/instances`]: 2 }), never);
        const large = { [`${member}/max_batch_size`]: 2 * most, [`${neighbour}/max_batch_size`]: most };
        await control.apply(candidate(large), never);
        expect(await batches()).toEqual([2 * most, most, most]);
        expect((await control.apply(candidate(large), never)).change).toBe('none');
      } finally {
        isOver = true;
        await Promise.all(running);
        expect(await control.restore()).toMatchObject({ verified: true });
      }
      expect(failures.length).toBeGreaterThan(0);
      expect(failures.filter((words) => words !== '')).toEqual([]);
      for (const { model, config } of originals)
        expect(compareConfigs(config, await client.modelConfig(model))).toEqual([]);
    });

    it('keeps its statistics after a change, whatever else is loaded', async () => {
      const { client, ensemble, member, stranger, control, candidate, infer, count } = await begin();
      await control.apply(candidate({ [`${member}/instances`]: 2 }), never);
      for (let sent = 0; sent < 3; sent += 1) expect(await infer()).toBe('');
      await expect.poll(() => count(ensemble)).toBe(3);
      await client.load(stranger);
      expect(await count(ensemble)).toBe(3);
      await control.restore();
    });

    it('goes back at once from a candidate of which one model is refused', async () => {
      const { client, ensemble, member, neighbour, control, candidate, infer } = await begin();
      await control.apply(candidate({ [`${member}/instances`]: 2, [`${neighbour}/instances`]: 2 }), never);
      const bad = { [`${member}/max_batch_size`]: 1, [`${neighbour}/kind`]: 'gpu', [`${neighbour}/instances`]: 3 };
      await expect(control.apply(candidate(bad), never)).rejects.toMatchObject({ code: 'LOAD_REFUSED' });
      expect(await infer()).toBe('');
      expect((await client.modelConfig(ensemble)).max_batch_size).toBeGreaterThan(1);
      expect((await client.modelConfig(member)).instance_group?.[0]?.count).toBe(2);
      expect(await control.restore()).toMatchObject({ verified: true });
    });
  });
}

/** Instances where the server has none for them. */
const KINDS = {
  choices: {
    cpu: { 'instance_group[0].kind': 'KIND_CPU' },
    gpu: { 'instance_group[0].kind': 'KIND_GPU', 'instance_group[0].gpus': [7] },
  },
};
