import { expect, it } from 'vitest';
import { buildCandidate } from '#space/candidate.ts';
import { launchedCandidate } from '#space/engine-candidate.ts';
import { toOriginal } from '#space/model-configs.ts';
import { loadSpace, spaceFromJson } from '#space/source/load.ts';
import type { Assignment } from '#space/types.ts';
import { toSettings } from '#study/analysis/settings.ts';
import { configOf, trialOf } from './builders.ts';

const space = spaceFromJson({
  name: 'test',
  parameters: {
    dynamic_batching: ['off', 'on'],
    queue_delay_us: { values: [0, 500], when: { dynamic_batching: 'on' } },
    cuda_graphs: ['off', 'on'],
    output_copy_stream: ['off', 'on'],
  },
});

it('names a value as the trials that set it do, also where it is the default that a config does not write', () => {
  const gpu = configOf(1, 4, { instance_group: [{ kind: 'KIND_GPU', count: 1 }] });
  const candidateOf = (assignment: Assignment) => {
    const built = buildCandidate(space, toOriginal(gpu), assignment);
    if (!built.legal) throw new Error(built.reason);
    return built.candidate;
  };
  const assignments: Assignment[] = [
    {},
    { dynamic_batching: true, queue_delay_us: 0, cuda_graphs: false, output_copy_stream: true },
    { dynamic_batching: true, queue_delay_us: 500, cuda_graphs: true, output_copy_stream: true },
  ];
  const trials = assignments.map((assignment, number) => trialOf(number, gpu, { candidate: candidateOf(assignment) }));
  const settings = toSettings(space, trials);
  expect(settings.names).toEqual(['dynamic_batching', 'queue_delay_us', 'cuda_graphs', 'output_copy_stream']);
  expect(trials.map(({ candidate }) => settings.of(candidate))).toEqual([
    // No trial set its last parameter to what the original config has, so nothing says what that is
    // called.
    [expect.stringMatching(/^(true|false)$/), '0', 'false', 'not set'],
    ['true', '0', 'false', 'true'],
    ['true', '500', 'true', 'true'],
  ]);
});

it("reads the settings of a language model's engine where the engine has them", () => {
  const trials = [16, 64].map((max_num_seqs, number) => {
    const candidate = launchedCandidate({ engine: { max_num_seqs } }, number === 0 ? {} : { max_num_seqs });
    return trialOf(number, configOf(1, 1), { candidate });
  });
  const settings = toSettings(loadSpace('engines/vllm'), trials);
  const place = settings.names.indexOf('max_num_seqs');
  expect(trials.map(({ candidate }) => settings.of(candidate)[place])).toEqual(['16', '64']);
});
