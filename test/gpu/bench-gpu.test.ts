import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { toModelConfig, toOriginal } from '#space/model-configs.ts';
import { loadSpace } from '#space/source/load.ts';
import { viewSpace } from '#study/search/samplers/space-view.ts';
import { parseConfigText } from '#triton/config/parser.ts';
import { type Machine, problemsOf, stoppedBy } from '../../bench/gpu/machine.ts';
import { configOf, sizes, subjects } from '../../bench/gpu/subjects.ts';

const spaces = resolve(import.meta.dirname, '../../bench/gpu/spaces');

describe('the models of bench/gpu', () => {
  it.each(subjects.flatMap((subject) => sizes.map((size) => [subject.name, size, subject] as const)))(
    '%s, %s, have a config with every knob of their spaces',
    (name, size, subject) => {
      const config = parseConfigText(configOf(subject, size, 'gpu'), 'config.pbtxt').config;
      expect(config).toMatchObject({ name, backend: 'python', instance_group: [{ kind: 'KIND_GPU', gpus: [0] }] });
      for (const file of [`${name}.yaml`, 'grid.yaml']) {
        const view = viewSpace(loadSpace(join(spaces, file)), toOriginal(config));
        const outcomes = [...view.assignments()].map((assignment) => view.build(assignment));
        expect(outcomes.length).toBeGreaterThanOrEqual(36);
        for (const outcome of outcomes) {
          if (!outcome.legal) throw new Error(JSON.stringify(outcome));
          // A knob that the model does not read would be a parameter of its own.
          expect(Object.keys(toModelConfig(outcome.candidate).parameters ?? {}).sort()).toEqual(
            Object.keys(config.parameters ?? {}).sort(),
          );
        }
      }
    },
  );
});

describe('a machine for bench/gpu', () => {
  const fit: Machine = {
    archive: { python: '3.12', triton: '2.51.0', node: 'v24.0.0' },
    cpu: 'a processor',
    cores: 16,
    memoryGib: 128,
    load: [0, 0, 0],
    compiler: '/usr/bin/gcc',
    sharedMemoryMib: 60_000,
    python: { version: '3.12', executable: '/opt/python3', packages: '/opt/site-packages' },
    torch: { version: '2.11.0', cuda: '13.0', gpu: 'NVIDIA H200' },
    gpus: 'NVIDIA H200, 580.159.03, 143771 MiB',
  };

  it('is fit', () => {
    expect([problemsOf(fit, 'full'), stoppedBy(fit, 'full')]).toEqual([[], null]);
  });

  it.each<[string, Partial<Machine>, RegExp, boolean]>([
    [
      'whose PyTorch is for another Python',
      { python: { version: '3.13', executable: '/p', packages: '/s' } },
      /PyTorch's Python is 3\.13, and the archive carries 3\.12.*pack again/,
      true,
    ],
    ['without PyTorch', { torch: null }, /no PyTorch/, true],
    ['whose PyTorch sees no GPU', { torch: { version: '2.11.0', cuda: null, gpu: null } }, /sees no GPU/, true],
    ['without a compiler', { compiler: null }, /torch\.compile will not load/, false],
    ['with little shared memory', { sharedMemoryMib: 64 }, /\/dev\/shm has 64 MiB/, false],
  ])('%s is told so', (_, change, words, stops) => {
    const machine = { ...fit, ...change };
    expect(problemsOf(machine, 'full').join('\n')).toMatch(words);
    expect(stoppedBy(machine, 'full') !== null).toBe(stops);
  });
});
