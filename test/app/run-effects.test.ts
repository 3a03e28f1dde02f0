import { expect, it } from 'vitest';
import { effectsOfStudy, listNotices } from '#app/run-effects.ts';
import { toSpec } from '#spec/spec-of-options.ts';

const spec = toSpec({
  model: 'm',
  launch: 'local',
  modelRepository: 'models',
  accuracyCommand: ['python top1.py', 'top1>=0.75'],
});
const [server, command] = ['runs tritonserver on models', 'runs python top1.py'];

it('a study file says each command that it runs and that nobody typed', () => {
  expect(listNotices(spec, new Set())).toEqual([server, command]);
  expect(listNotices(spec, new Set(['accuracyCommand']))).toEqual([server]);
  expect(listNotices(spec, new Set(['launch']))).toEqual([command]);
  expect(listNotices(spec, new Set(['launch', 'accuracyCommand']))).toEqual([]);
});

it('the study of a stranger says them all', () => {
  expect(effectsOfStudy(spec, {})).toEqual(expect.arrayContaining([server, command]));
});
