import { describe, expect, it } from 'vitest';
import { readSpecChange, specPaths, withChange } from '#spec/spec-change.ts';
import { studyDocument, toSpec } from '#spec/spec-of-options.ts';

describe('a change of one field of a study', () => {
  it.each([
    ['limits.maxTrials=20', 20],
    ['measurement.allowForeignTraffic=true', true],
    ['goal.constraints=[gpu-memory<=8GiB]', ['gpu-memory<=8GiB']],
    ['levels.concurrency={low: 1, high: 8}', { low: 1, high: 8 }],
    // A field of text takes it as it is.
    ['sampler.name=1', '1'],
    ['output=runs/a=b', 'runs/a=b'],
    ['limits.maxTrials=null', null],
    ['output=null', null],
    // Names of models are not in the schema.
    ['goal.modelBudgetsMs.detector=8', 8],
  ])('is read from %s', (text, value) => {
    const path = text.slice(0, text.indexOf('=')).split('.');
    expect(readSpecChange(text, studyDocument)).toEqual({ path, value });
  });

  it.each([
    ['limits.maxTrial=2', /no field 'limits\.maxTrial' \(did you mean 'limits\.maxTrials'\?\)/],
    ['limits=3', /'limits' is a section of a study/],
    ['limits.maxTrials', /is not PATH=VALUE/],
    ['=3', /is not PATH=VALUE/],
    ['goal.constraints=[a', /is no value: line 1/],
    ['constructor=1', /no field 'constructor'/],
    ['__proto__.x=1', /no field '__proto__\.x'/],
    ['server.header=["a: b"]', /takes no header/],
    ['server={header: ["a: b"]}', /'server' is a section/],
  ])('is refused in %s', (text, words) => {
    expect(() => readSpecChange(text, studyDocument)).toThrow(words);
  });

  it('replaces a field of a section, adds a section, and removes a field', () => {
    const spec = { model: 'm', limits: { maxTrials: 5, maxOutageSeconds: 3 } };
    expect(withChange(spec, readSpecChange('limits.maxTrials=6', studyDocument)).limits).toEqual({
      maxTrials: 6,
      maxOutageSeconds: 3,
    });
    expect(withChange(spec, readSpecChange('limits.maxTrials=null', studyDocument)).limits).toEqual({
      maxOutageSeconds: 3,
    });
    expect(withChange(spec, readSpecChange('traffic.batch=4', studyDocument)).traffic).toEqual({ batch: 4 });
    expect(spec.limits.maxTrials).toBe(5);
  });

  it('takes precedence over the options, and is checked by the schema', () => {
    const studyOf = (...texts: string[]) =>
      toSpec({ model: 'm', maxTrials: 3, set: texts.map((text) => readSpecChange(text, studyDocument)) });
    expect(studyOf('limits.maxTrials=9', 'traffic.batch=2')).toMatchObject({
      limits: { maxTrials: 9 },
      traffic: { batch: 2 },
    });
    expect(() => studyOf('limits.maxTrials=-1')).toThrow(/limits\.maxTrials: Too small/);
  });

  it('reaches every field that an option has, but for headers', () => {
    const paths = specPaths(studyDocument);
    expect(paths).toEqual(
      expect.arrayContaining(['model', 'space', 'server.url', 'goal.latencyBudgetMs', 'cost.forRate']),
    );
    for (const path of paths.filter((each) => each !== 'server.header'))
      expect(readSpecChange(`${path}=null`, studyDocument).path.join('.')).toBe(path);
  });
});
