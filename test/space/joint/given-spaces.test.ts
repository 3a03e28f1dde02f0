import { describe, expect, it } from 'vitest';
import { readStatedSpaces, type StatedSpaces } from '#space/joint/given-spaces.ts';
import { folderOf } from '../fixtures.ts';

const namesOf = ({ members }: StatedSpaces) =>
  Object.fromEntries(
    Object.entries(members).map(([model, { parameters }]) => [model, parameters.map(({ name }) => name)]),
  );

describe('given spaces', () => {
  it('are one for each member: a preset, a file beside it, or what such a file says', () => {
    const directory = folderOf({
      'my.yaml': `
members:
  tokenizer: python
  encoder: ./small.yaml
  head: { extends: small.yaml, parameters: { threads: { path: parameters.threads, values: [1, 2] } } }
`,
      'small.yaml': 'parameters: { instances: [1, 2], max_batch_size: [1, 4] }',
    });
    const given = readStatedSpaces('my.yaml', { directory });
    expect(given.whole).toBeNull();
    expect(namesOf(given)).toMatchObject({
      encoder: ['max_batch_size', 'instances'],
      head: ['max_batch_size', 'threads', 'instances'],
    });
    expect(given.members.tokenizer?.name).toBe('python');
    expect(readStatedSpaces({ members: {}, others: 'base' }).whole?.name).toBe('base');
  });

  it('are one for all where there are no members, also in JSON', () => {
    expect(readStatedSpaces('python')).toMatchObject({ whole: { name: 'python' }, members: {} });
    expect(readStatedSpaces({ parameters: { instances: [1] } }).whole?.parameters).toHaveLength(1);
    expect(namesOf(readStatedSpaces({ members: { a: { parameters: { instances: [1] } }, b: 'base' } })).a).toEqual([
      'instances',
    ]);
  });

  it('say what is wrong with which member', () => {
    const read = (text: string) => () => readStatedSpaces('my.yaml', { directory: folderOf({ 'my.yaml': text }) });
    expect(read('members: { a: { parametres: {} } }')).toThrow(/my.yaml members.a parametres: unknown key/);
    expect(read('members: { a: 3 }')).toThrow(/my.yaml members.a: expected a search space, a preset or a file/);
    expect(read('members: { a: nothing.yaml }')).toThrow(/there is no search space 'nothing.yaml'/);
    expect(read('{ members: { a: base }, drop: [] }')).toThrow(
      /drop: beside members there are only others, limits and/,
    );
    expect(read('{ members: { a: base }, rules: [{ require: a.x > 1 }] }')).toThrow(/my.yaml rules.*message/);
  });
});
