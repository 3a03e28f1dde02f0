import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { readFileRecords } from '#base/records.ts';
import { type PromptFileRule, readPromptFile } from '#loadgen/prompts/prompt-file.ts';
import { estimate } from '#loadgen/prompts/tokenizer.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'prompts-'));
});

let written = 0;
async function fileOf(content: string): Promise<string> {
  const path = join(folder, `${written++}`);
  await writeFile(path, content);
  return path;
}

const lines = (...records: readonly object[]): string => records.map((record) => JSON.stringify(record)).join('\n');

const rule: PromptFileRule = {
  outputTokens: null,
  prompts: null,
  sessions: false,
  thinkMs: null,
  slice: null,
  ignoresEnd: null,
  seed: 1,
};

const read = async (content: string, change: Partial<PromptFileRule> = {}) =>
  readPromptFile(await fileOf(content), { ...rule, ...change }, estimate);

const said = (source: Awaited<ReturnType<typeof read>>) =>
  source.conversations.map((turns) =>
    turns.map(({ messages }) => messages.map(({ role, content }) => `${role}:${content}`).join('|')),
  );

describe('a file of prompts', () => {
  it.each([
    ['vLLM', { prompt: 'hello there', output_tokens: 9 }],
    ['AIPerf', { text: 'hello there', output_length: 9 }],
    ['GuideLLM', { prompt: 'hello there', output_tokens_count: 9 }],
    ['messages', { messages: [{ role: 'user', content: 'hello there' }], max_tokens: 9 }],
    ['parts', { messages: [{ role: 'user', content: [{ type: 'text', text: 'hello there' }] }], max_tokens: 9 }],
    ['perf_analyzer', { payload: [{ messages: [{ role: 'user', content: 'hello there' }], max_tokens: 9 }] }],
    ['a batch', { custom_id: '1', body: { messages: [{ role: 'user', content: 'hello there' }], max_tokens: 9 } }],
  ])('is read in the form of %s', async (_, record) => {
    const source = await read(lines(record));
    expect(said(source)).toEqual([['user:hello there']]);
    expect(source.conversations[0]?.[0]).toMatchObject({ inputTokens: 2, maxTokens: 9, ignoresEnd: false });
    expect(source.arrivalsNs).toBeNull();
  });

  it('keeps the fields that a call was recorded with, and names those that are not sent', async () => {
    const call = { temperature: 0, tools: [{ type: 'function', function: { name: 'weather' } }] };
    const messages = [
      { role: 'developer', content: 'be brief' },
      { role: 'user', content: 'hello there' },
    ];
    const source = await read(lines({ messages, ...call, model: 'm', stream: true, category: 'talk', max_tokens: 9 }));
    expect(said(source)).toEqual([['developer:be brief|user:hello there']]);
    const [prompt] = source.conversations[0] ?? [];
    expect(prompt).toMatchObject({ fields: call, maxTokens: 9 });
    expect(prompt?.inputTokens).toBeGreaterThan(estimate.count('be brief') + estimate.count('hello there'));
    expect(source.notes).toContain('its fields that are not sent: category');
    const batch = await read(lines({ custom_id: '1', body: { messages, ...call } }));
    expect(batch.conversations[0]?.[0]?.fields).toEqual(call);
  });

  it('numbers the lines of a list that comes in several pieces', async () => {
    const long = 'x'.repeat(3 * 2 ** 20);
    await expect(read(`[\n{"prompt": "a"},\n{"prompt": "${long}"},\n{"prompt":\n3}]`)).rejects.toThrow(
      /line 4: it has no/,
    );
  });

  it('sends a call with tool turns whole, as it was recorded', async () => {
    const messages = [
      { role: 'user', content: 'rain?' },
      { role: 'assistant', content: null, tool_calls: [{ id: 'c1', type: 'function', function: { name: 'w' } }] },
      { role: 'tool', tool_call_id: 'c1', content: 'rain' },
      { role: 'user', content: 'umbrella?' },
    ];
    for (const sessions of [false, true]) {
      const source = await read(lines({ messages }), { sessions });
      expect(source.conversations).toHaveLength(1);
      expect(source.conversations[0]).toMatchObject([{ messages }]);
    }
    const answered = await read(lines({ messages: [...messages, { role: 'assistant', content: 'yes do' }] }));
    expect(answered.conversations[0]).toMatchObject([{ messages, maxTokens: 2 }]);
  });

  it('sends a recorded call whole, or holds its conversation with --sessions', async () => {
    const messages = [
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'an answer' },
      { role: 'user', content: 'two' },
      { role: 'assistant', content: 'three words here' },
    ];
    const whole = await read(lines({ messages }));
    expect(whole.conversations).toMatchObject([[{ messages: messages.slice(0, 3), maxTokens: 3 }]]);
    expect(said(await read(lines({ messages }), { sessions: true }))).toEqual([['user:one', 'user:two']]);
  });

  const ask = (content: string) => ({ role: 'user', content });

  it('is the calls of a session, also with the history in each', async () => {
    const answer = { role: 'assistant', content: 'yes' };
    const payloads = [{ messages: [ask('one')] }, { messages: [ask('one'), answer, ask('two')] }];
    const calls = lines({ session_id: 'a', payloads });
    expect(said(await read(calls))).toEqual([['user:one'], ['user:one|assistant:yes|user:two']]);
    expect(said(await read(calls, { sessions: true }))).toEqual([['user:one', 'user:two']]);
    const records = lines(
      { session_id: 'a', payload: [{ messages: [ask('one')] }] },
      { session_id: 'a', delay: 70, payload: [{ messages: [ask('two')] }] },
      { session_id: 'b', payload: [{ messages: [ask('three')] }] },
    );
    expect(said(await read(records))).toEqual([['user:one'], ['user:two'], ['user:three']]);
    const held = await read(records, { sessions: true });
    expect(said(held)).toEqual([['user:one', 'user:two'], ['user:three']]);
    expect(held.conversations[0]?.[1]).toMatchObject({ thinkMs: 70 });
  });

  it('is refused with a session that never ends, which would be held whole', async () => {
    const records = Array.from({ length: 10_001 }, () => ({ session_id: 'a', payload: [{ messages: [ask('one')] }] }));
    await expect(read(lines(...records), { sessions: true })).rejects.toThrow(
      /line 10001: the session 'a' has more than 10000 turns/,
    );
    expect((await read(lines(...records.slice(1)), { sessions: true })).conversations[0]).toHaveLength(10_000);
  });

  it("is read from the list of perf_analyzer's and GenAI-Perf's files, with the lines of faults", async () => {
    const call = (content: string) =>
      `    { "payload": [{ "model": "m", "messages": [{ "role": "user", "content": ${content} }] }] }`;
    const source = await read(`{\n  "data": [\n${call('"one"')},\n${call('"two"')}\n  ],\n  "more": [1]\n}\n`);
    expect(said(source)).toEqual([['user:one'], ['user:two']]);
    expect(said(await read(`{"data": [${call('"one"')}]}`))).toEqual([['user:one']]);
    await expect(read(`{\n  "data": [\n${call('"one"')},\n${call('2')}]}`)).rejects.toThrow(/line 4: a part of its/);
  });

  it('is a text a line, or a JSON list, too', async () => {
    expect(said(await read('one text\n\nand another, with: signs\n'))).toEqual([
      ['user:one text'],
      ['user:and another, with: signs'],
    ]);
    expect(said(await read('[\n {"prompt": "a ] , { \\" "},\n {"prompt": "b"} ]'))).toEqual([
      ['user:a ] , { " '],
      ['user:b'],
    ]);
  });

  it('takes the length of a reply from the line, else from the option, else leaves it to the server', async () => {
    const content = lines({ prompt: 'a', max_tokens: 3 }, { prompt: 'b' });
    const lengths = async (change: Partial<PromptFileRule>) =>
      (await read(content, change)).conversations.map(([prompt]) => prompt?.maxTokens);
    expect(await lengths({})).toEqual([3, null]);
    expect(await lengths({ outputTokens: { kind: 'constant', value: 7 } })).toEqual([3, 7]);
  });

  it('is chosen from at random, the same for the same seed, in its own order', async () => {
    const content = lines(...Array.from({ length: 500 }, (_, number) => ({ prompt: `${number}` })));
    const numbers = async (seed: number) =>
      said(await read(content, { prompts: 20, seed })).map(([text]) => Number(text?.slice(5)));
    const chosen = await numbers(1);
    expect(chosen).toHaveLength(20);
    expect(chosen).toEqual(chosen.toSorted((a, b) => a - b));
    expect(chosen).toEqual(await numbers(1));
    expect(chosen).not.toEqual(await numbers(2));
    expect(chosen.at(-1)).toBeGreaterThan(250);
  });
});

const shareGpt = JSON.stringify([
  {
    id: '1',
    conversations: [
      { from: 'system', value: 'be brief' },
      { from: 'human', value: 'first question' },
      { from: 'gpt', value: 'an answer of five words' },
      { from: 'human', value: 'second' },
      { from: 'gpt', value: 'yes' },
    ],
  },
  { id: '2', conversations: [{ from: 'gpt', value: 'nobody asked' }] },
  { id: '3', conversations: [{ from: 'human', value: 'alone' }] },
]);

describe('pictures', () => {
  const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const dataUrl = `data:image/png;base64,${png.toString('base64')}`;

  it('of a message are sent as recorded, those of files as data URLs', async () => {
    await writeFile(join(folder, 'a.png'), png);
    const parts = (url: string) => [
      { type: 'text', text: 'what is this?' },
      { type: 'image_url', image_url: { url, detail: 'low' } },
    ];
    for (const [url, sent] of [
      ['https://example.org/a.png', 'https://example.org/a.png'],
      [dataUrl, dataUrl],
      ['a.png', dataUrl],
      [join(folder, 'a.png'), dataUrl],
      [`file://${join(folder, 'a.png')}`, dataUrl],
    ] as const) {
      const source = await read(lines({ messages: [{ role: 'user', content: parts(url) }] }));
      expect(source.conversations[0]?.[0]).toMatchObject({
        messages: [{ role: 'user', content: 'what is this?', parts: parts(sent) }],
        inputTokens: estimate.count('what is this?'),
      });
    }
  });

  it("are read in AIPerf's form", async () => {
    await writeFile(join(folder, 'b.png'), png);
    const source = await read(lines({ text: 'compare', images: ['b.png', 'https://example.org/c.png'] }));
    expect(source.conversations[0]?.[0]?.messages[0]?.parts).toEqual([
      { type: 'text', text: 'compare' },
      { type: 'image_url', image_url: { url: dataUrl } },
      { type: 'image_url', image_url: { url: 'https://example.org/c.png' } },
    ]);
  });
});

describe("ShareGPT's conversations", () => {
  it('give their first turn, with the recorded length of the answer', async () => {
    const source = await read(shareGpt);
    expect(said(source)).toEqual([['system:be brief|user:first question'], ['user:alone']]);
    expect(source.conversations.map(([turn]) => [turn?.inputTokens, turn?.maxTokens])).toEqual([
      [4, 5],
      [1, null],
    ]);
    expect(source.notes.join('\n')).toMatch(/ShareGPT: 2 of 2\n1 conversations in which nobody asks/);
  });

  it('give all turns as sessions, without the recorded answers', async () => {
    const source = await read(shareGpt, { sessions: true, thinkMs: { kind: 'constant', value: 50 } });
    expect(said(source)).toEqual([['system:be brief|user:first question', 'user:second'], ['user:alone']]);
    expect(source.conversations[0]?.map(({ maxTokens, thinkMs }) => [maxTokens, thinkMs])).toEqual([
      [5, undefined],
      [1, 50],
    ]);
  });
});

it("reads AIPerf's turns, with their delays and a leading turn of the system", async () => {
  const turns = [{ role: 'system', text: 'be brief' }, { text: 'one' }, { text: 'two', delay: 250, output_length: 4 }];
  const source = await read(lines({ session_id: 'a', turns }), { sessions: true });
  expect(said(source)).toEqual([['system:be brief|user:one', 'user:two']]);
  expect(source.conversations[0]?.[1]).toMatchObject({ thinkMs: 250, maxTokens: 4 });
});

describe('a trace', () => {
  const mooncake = lines(
    { timestamp: 1000, input_length: 1100, output_length: 50, hash_ids: [1, 2, 3] },
    { timestamp: 1000, input_length: 1024, output_length: 1, hash_ids: [1, 2] },
    { timestamp: 4500, input_length: 600, output_length: 9, hash_ids: [1, 4] },
  );
  const words = (source: Awaited<ReturnType<typeof read>>) =>
    source.conversations.map(([prompt]) => prompt?.messages[0]?.content?.split(' ') ?? []);

  it("of Mooncake's has times, lengths, and equal text for equal blocks", async () => {
    const source = await read(mooncake);
    expect(source.arrivalsNs).toEqual([1e9, 1e9, 4.5e9]);
    const prompts = source.conversations.map(([prompt]) => prompt);
    expect(prompts.map((prompt) => [prompt?.inputTokens, prompt?.maxTokens, prompt?.ignoresEnd])).toEqual([
      [1100, 50, true],
      [1024, 1, true],
      [600, 9, true],
    ]);
    const [one, two, three] = words(source) as [string[], string[], string[]];
    expect([one, two, three].map(({ length }) => length)).toEqual([1100, 1024, 600]);
    expect(one.slice(0, 1024)).toEqual(two);
    expect(three.slice(0, 512)).toEqual(two.slice(0, 512));
    expect(three.slice(512)).not.toEqual(two.slice(512, 600));
  });

  it('is sliced by seconds since its first request', async () => {
    const source = await read(mooncake, { slice: { fromS: 3, toS: 10 } });
    expect(source.arrivalsNs).toEqual([4.5e9]);
    await expect(read(mooncake, { slice: { fromS: 30, toS: 40 } })).rejects.toThrow('nothing came in that slice');
  });

  it("of BurstGPT's leaves failed requests out", async () => {
    const header = 'Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type';
    const source = await read(
      `${header}\n5,ChatGPT,472,18,490,Conversation log\n45.5,ChatGPT,87,0,87,Conversation log\n`,
    );
    expect(source.arrivalsNs).toEqual([5e9]);
    expect(words(source).map(({ length }) => length)).toEqual([472]);
    expect(source.notes.join()).toContain('1 lines without tokens');
  });

  it("of Azure's has times of the day, of both years' forms, in order", async () => {
    const source = await read(
      'TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:15:47.1805900,110,27\r\n2023-11-16 18:15:46.6805900,374,44\r\n2023-11-16 19:15:48.000000+01:00,5,6\r\n',
    );
    const [first = 0, ...others] = source.arrivalsNs ?? [];
    expect(others.map((arrivalNs) => Math.round((arrivalNs - first) / 1e3))).toEqual([500_000, 1_319_410]);
    expect(source.conversations.map(([prompt]) => prompt?.maxTokens)).toEqual([44, 27, 6]);
  });

  it('without times gives lengths alone', async () => {
    const source = await read(lines({ input_length: 10, output_length: 3 }, { input_length: 20, output_length: 4 }));
    expect(source.arrivalsNs).toBeNull();
    expect(words(source).map(({ length }) => length)).toEqual([10, 20]);
  });

  it('of more text than memory has is refused where it becomes too much', async () => {
    const row = { timestamp: 1, input_length: 1_000_000, output_length: 1 };
    const tooMuch = read(lines(...Array.from({ length: 40 }, () => row)));
    await expect(tooMuch).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      hint: expect.stringContaining('--trace-slice'),
    });
    await expect(tooMuch).rejects.toThrow('line 33');
  });
});

describe('a bad file', () => {
  it.each([
    ['{"prompt": "a"}\n{"prompt": 3}', 'line 2: it has no prompt'],
    ['{"prompt": "a"}\n\n{"prompt": "b"', 'line 3: it is not JSON'],
    ['[{"prompt": "a"},\n{"promt": "b"}]', 'line 2: it has no prompt'],
    ['[{"prompt": "a"},\n{"prompt": "b"}', 'line 2: the list is not closed'],
    ['{"prompt": "a", "max_tokens": "9"}', 'line 1: its "max_tokens"'],
    ['{"conversations": [{"from": "nobody", "value": "x"}]}', "line 1: 'nobody' is not a known role"],
    ['{"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]}', 'more than text and pictures'],
    ['{"text": "x", "image": 3}', 'line 1: a picture of it is no text'],
    ['{"text": "x", "image": "nowhere.png"}', "cannot read the picture 'nowhere.png'"],
    ['{"text": "x", "image": "/etc/hostname"}', "'/etc/hostname' is no PNG, JPEG, GIF or WebP"],
    ['{"text": "x", "image": "/dev/zero"}', "cannot read the picture '/dev/zero': it is a device"],
    ['{"messages": [{"role": "user", "content": null}]}', 'is incomplete'],
    ['{"messages": [{"role": "user", "content": "x"}], "n": 3}', 'line 1: its "n" is not 1'],
    ['{"messages": [{"role": "user", "content": "x"}], "audio": {}}', 'its "audio" is not supported'],
    ['{"input_length": -1, "output_length": 2}', 'line 1: its "input_length"'],
    ['{"input_length": 1, "output_length": 2, "hash_ids": ["x"]}', 'line 1: its "hash_ids"'],
    ['TIMESTAMP,ContextTokens,GeneratedTokens\nyesterday,1,2', "line 2: 'yesterday' is not a time"],
    ['TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,1', 'line 2: it has 2 of 3 columns'],
    ['when,tokens_in,tokens_out\n1,2,3', 'line 1: a CSV file with these columns'],
    ['', 'it has no prompt'],
    ['[]', 'it has no prompt'],
  ])('%j says where and what', async (content, message) => {
    const failure = read(content);
    await expect(failure).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    await expect(failure).rejects.toThrow(message);
  });

  it('that is not there, or no file, says so', async () => {
    await expect(readPromptFile('/nowhere', rule, estimate)).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    await expect(readPromptFile(folder, rule, estimate)).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  });
});

it('cuts records wherever the chunks of the file end', async () => {
  const long = 'ü"\\'.repeat(400_000);
  const records = [{ prompt: long }, { prompt: 'b' }, { prompt: long }];
  for (const content of [lines(...records), JSON.stringify(records, null, 1)]) {
    const found: unknown[] = [];
    for await (const { text } of readFileRecords(await fileOf(content))) found.push(JSON.parse(text));
    expect(found).toEqual(records);
  }
});
