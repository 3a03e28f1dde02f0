import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { commandLineWithoutValues, readHeaders, withoutHeaderValues } from '#app/server/headers.ts';
import { filledBy } from '#cli/options/filled-rows.ts';
import { addOptions } from '#cli/options/option-table.ts';
import { type RequestFlags, requestOptionTable } from '#cli/options/requests.ts';
import { profileOptions } from '#spec/profile-spec.ts';

const said: string[] = [];
const parse = (...args: string[]): RequestFlags => {
  const command = addOptions(new Command(), filledBy(profileOptions, requestOptionTable))
    .exitOverride()
    .configureOutput({ writeErr: (text) => said.push(text) });
  return command.parse(args, { from: 'user' }).opts();
};

describe('the options about what is sent', () => {
  it('are parsed to typed values', () => {
    const shapes = ['--shape', 'images:0:3,224,224', '--shape', 'ids:7', '--shape', '__proto__:1'];
    const parameters = ['--request-parameter', 'priority:-2:int', '--request-parameter', 'who:a:b:string'];
    const more = ['--request-parameter', 'fast:true:bool', '--request-parameter', 'share:1e-3:double'];
    const data = ['-b', '4', '--input-data', 'a.json', '--input-data', 'b.json', '--integers', '-5:9'];
    const options = parse(...shapes, ...parameters, ...more, ...data, '--string-length', '7', '--string-data', 'x');
    expect(Object.entries(options.shape ?? {})).toEqual([
      ['images:0', [3, 224, 224]],
      ['ids', [7]],
      ['__proto__', [1]],
    ]);
    expect(options.requestParameter).toEqual([
      { name: 'priority', type: 'int', value: -2 },
      { name: 'who', type: 'string', value: 'a:b' },
      { name: 'fast', type: 'bool', value: true },
      { name: 'share', type: 'double', value: 0.001 },
    ]);
    expect(options).toMatchObject({
      batch: 4,
      inputData: ['a.json', 'b.json'],
      integers: { low: -5, high: 9 },
      stringLength: 7,
      stringData: 'x',
    });
  });

  it('take a range of integers for each input, in any order', () => {
    const ids = ['--integers', 'token_type_ids=0:1', '--integers', '__proto__=2:3'];
    expect(Object.entries(parse('--integers', '0:30000', ...ids).integers ?? {})).toEqual([
      ['*', { low: 0, high: 30_000 }],
      ['token_type_ids', { low: 0, high: 1 }],
      ['__proto__', { low: 2, high: 3 }],
    ]);
    expect(parse(...ids, '--integers', '0:7').integers).toMatchObject({ '*': { low: 0, high: 7 } });
    expect(parse('--integers', 'a=b=0:1').integers).toEqual({ 'a=b': { low: 0, high: 1 } });
  });

  it.each([
    ['--shape', 'images'],
    ['--shape', 'images:'],
    ['--shape', 'images:-1'],
    ['--shape', 'images:3x4'],
    ['--shape', ':3'],
    ['--integers', '9:1'],
    ['--integers', 'ids=9:1'],
    ['--integers', '=0:1'],
    ['--integers', '1.5:2'],
    ['--string-length', '0'],
    ['--output-tolerance', '-1'],
    ['--request-parameter', 'a:b'],
    ['--request-parameter', 'a:b:text'],
    ['--request-parameter', ':b:string'],
    ['--request-parameter', 'a:yes:bool'],
    ['--request-parameter', 'a:1.5:int'],
    ['--request-parameter', 'a::int'],
    ['--request-parameter', 'a:9007199254740993:int'],
    ['--request-parameter', 'a::double'],
    ['--request-parameter', 'binary_data_output:false:bool'],
  ])('refuse %s %s', (flag, value) => {
    expect(() => parse(flag, value)).toThrow();
  });
});

describe('headers', () => {
  it('are read as names in lower case and values', () => {
    expect(readHeaders({ header: ['Authorization:  Bearer a:b ', 'X-Room:7', 'empty:'] })).toEqual([
      { name: 'authorization', value: 'Bearer a:b' },
      { name: 'x-room', value: '7' },
      { name: 'empty', value: '' },
    ]);
    expect(readHeaders({})).toEqual([]);
  });

  it.each([
    'no colon but secret',
    'bad name: secret',
    ': secret',
    'x: secret\r\nother: y',
    'x: sécret',
    ':path: secret',
    'Content-Length: secret',
    'grpc-timeout: secret',
    'TE: secret',
    `x: secret${'y'.repeat(9000)}`,
  ])('are refused without a word of their value: %j', (header) => {
    said.length = 0;
    const { header: given = [] } = parse('-H', header);
    expect(said).toEqual([]);
    try {
      readHeaders({ header: given });
      expect.unreachable();
    } catch (error) {
      expect(error).toMatchObject({ code: 'USAGE' });
      expect(JSON.stringify([(error as Error).message, error])).not.toMatch(/s[eé]cret/);
    }
  });

  it('may be those of a copied command: the type of JSON, and who sends', () => {
    const header = ['Content-Type: application/json; charset=utf-8', 'User-Agent: sender/1'];
    expect(readHeaders({ header })).toEqual([{ name: 'user-agent', value: 'sender/1' }]);
  });

  it('are refused when there are too many', () => {
    expect(() => readHeaders({ header: Array.from({ length: 33 }, (_, index) => `x-${index}: y`) })).toThrow(
      /too many/,
    );
  });

  it('leave only their names in what is written down', () => {
    const header = ['Authorization: Bearer secret', 'x-key:secret'];
    const args = ['-H', header[0] as string, `--header=${header[1]}`, `-H${header[0]}`, '-m', 'm'];
    const line = commandLineWithoutValues(args, { header });
    expect(line).toEqual(['-H', 'Authorization:…', '--header=x-key:…', '-HAuthorization:…', '-m', 'm']);
    expect(withoutHeaderValues({ header, batch: 1 })).toEqual({ header: ['authorization', 'x-key'], batch: 1 });
    const none: RequestFlags = { batch: 1 };
    expect(withoutHeaderValues(none)).toEqual(none);
  });
});
