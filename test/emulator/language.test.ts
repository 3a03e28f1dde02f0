import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '#base/random.ts';
import { estimatedTokens } from '#base/tokens.ts';
import { type Generation, LanguageEngine } from '#emulator/language/engine.ts';
import { createLanguageModel, type LanguageModel } from '#emulator/language/language-model.ts';
import type { EmulatorProfile } from '#emulator/profile/schema.ts';
import { ContinuousBatcher } from '#queueing/continuous/continuous-batcher.ts';
import { emulatorForTest, languageProfile } from '../support/emulator.ts';

interface Event {
  readonly atMs: number;
  readonly data: string;
}

/** A server of this profile, and ways to ask it. */
async function start(profile: EmulatorProfile = languageProfile()) {
  const { httpUrl, ...emulator } = await emulatorForTest({ profile });
  const url = `http://${httpUrl}`;
  const post = async (path: string, body: object | string) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const reply = await request(`${url}${path}`, { method: 'POST', body: text });
    return { status: reply.statusCode, json: (await reply.body.json()) as Record<string, never> };
  };
  const get = async (path: string) => {
    const reply = await request(`${url}${path}`);
    return { status: reply.statusCode, text: await reply.body.text() };
  };
  /** Server-sent events, each with the time since the request was sent. */
  const events = async (path: string, body: object): Promise<Event[]> => {
    const startMs = performance.now();
    const response = await fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body) });
    const found: Event[] = [];
    let rest = '';
    for await (const bytes of response.body ?? []) {
      const parts = (rest + Buffer.from(bytes).toString('utf8')).split('\n\n');
      rest = parts.pop() ?? '';
      const atMs = performance.now() - startMs;
      for (const part of parts) found.push({ atMs, data: part.replace(/^data: /, '') });
    }
    return found;
  };
  const metric = async (name: string): Promise<number> => {
    const { text } = await get('/metrics');
    return Number(new RegExp(`^vllm:${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(text)?.[1]);
  };
  return { ...emulator, url, post, get, events, metric };
}

const words = (count: number, word = 'word') => Array.from({ length: count }, () => word).join(' ');
const chat = (content: string, more: object = {}) => ({ messages: [{ role: 'user', content }], ...more });

describe('an OpenAI server of the emulator', () => {
  it('answers chats as a whole, with usage', async () => {
    const { post } = await start();
    const { status, json } = await post('/v1/chat/completions', chat(words(20), { max_tokens: 7, ignore_eos: true }));
    expect(status).toBe(200);
    expect(json).toMatchObject({
      object: 'chat.completion',
      model: 'talk',
      choices: [{ index: 0, finish_reason: 'length', message: { role: 'assistant' } }],
      usage: { prompt_tokens: 20, completion_tokens: 7, total_tokens: 27, prompt_tokens_details: { cached_tokens: 0 } },
    });
    expect(
      estimatedTokens((json as never as { choices: [{ message: { content: string } }] }).choices[0].message.content),
    ).toBe(7);
  });

  it('answers completions of texts and of token numbers, with 16 tokens if nothing is said', async () => {
    const { post } = await start();
    for (const prompt of ['one two three', [1, 20_000, 300], ['one two three'], [[1, 2, 3]]]) {
      const { json } = await post('/v1/completions', { model: 'talk', prompt, ignore_eos: true });
      expect(json).toMatchObject({ object: 'text_completion', usage: { prompt_tokens: 3, completion_tokens: 16 } });
    }
  });

  it('streams a chunk for each token, then the usage, then the end', async () => {
    const { events } = await start();
    const body = chat('hello', {
      max_tokens: 5,
      ignore_eos: true,
      stream: true,
      stream_options: { include_usage: true },
    });
    const found = await events('/v1/chat/completions', body);
    expect(found.at(-1)?.data).toBe('[DONE]');
    const chunks = found.slice(0, -1).map(({ data }) => JSON.parse(data));
    const [role, ...others] = chunks;
    expect(role).toMatchObject({
      object: 'chat.completion.chunk',
      choices: [{ delta: { role: 'assistant', content: '' } }],
    });
    const usage = others.pop();
    expect(usage).toMatchObject({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 5 } });
    expect(others.map(({ choices }) => choices[0].finish_reason)).toEqual([null, null, null, null, 'length']);
    expect(estimatedTokens(others.map(({ choices }) => choices[0].delta.content).join(''))).toBe(5);
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
  });

  it('ends by itself where it is not told to go on, and at a stop, which is not in the text', async () => {
    const profile = languageProfile({ language: { answer_tokens: { mean: 6, std: 0 } } });
    const { post } = await start(profile);
    const own = await post('/v1/completions', { prompt: 'a', max_tokens: 50 });
    expect(own.json).toMatchObject({ choices: [{ finish_reason: 'stop' }], usage: { completion_tokens: 6 } });
    const stopped = await post('/v1/completions', { prompt: 'a', max_tokens: 400, ignore_eos: true, stop: ['e'] });
    const [choice] = (stopped.json as never as { choices: [{ text: string; finish_reason: string }] }).choices;
    expect(choice.finish_reason).toBe('stop');
    expect(choice.text).not.toContain('e');
  });

  it('names its models, its health and its version of the page', async () => {
    const { get } = await start();
    expect(JSON.parse((await get('/v1/models')).text)).toMatchObject({ data: [{ id: 'talk', max_model_len: 2048 }] });
    expect((await get('/health')).status).toBe(200);
  });

  it.each([
    ['no JSON', '/v1/completions', '{', 400, 'not JSON'],
    ['no prompt', '/v1/completions', {}, 400, 'prompt'],
    ['no messages', '/v1/chat/completions', { messages: [] }, 400, 'messages'],
    [
      'a picture',
      '/v1/chat/completions',
      { messages: [{ role: 'user', content: [{ type: 'image_url' }] }] },
      400,
      'content',
    ],
    ['several answers', '/v1/completions', { prompt: 'a', n: 2 }, 400, 'only one answer'],
    ['another model', '/v1/completions', { prompt: 'a', model: 'other' }, 404, 'does not exist'],
    ['too long a prompt', '/v1/completions', { prompt: words(3000) }, 400, 'maximum context length is 2048'],
    ['too long an answer', '/v1/completions', { prompt: 'a', max_tokens: 3000 }, 400, 'maximum context length'],
    ['an empty prompt', '/v1/completions', { prompt: '' }, 400, 'cannot be empty'],
  ])("refuses %s in OpenAI's manner", async (_, path, body, status, message) => {
    const { post } = await start();
    const reply = await post(path as string, body as object);
    expect(reply.status).toBe(status);
    expect(reply.json).toMatchObject({ error: { code: status, message: expect.stringContaining(message as string) } });
  });
});

describe('the timing of an engine', () => {
  it("is the batcher's in virtual time, to the last token", () => {
    const profile = languageProfile({ step: { per_sequence_us: 2000, cv: 0.3 }, engine: { max_num_seqs: 2 } });
    const time = new VirtualTime();
    const engine = new LanguageEngine(modelOf(profile), time);
    const arrivedMs: number[][] = Array.from({ length: 4 }, () => []);
    for (const ms of arrivedMs) {
      engine.submit(generation(10, 20), { token: () => ms.push(time.nowMs) });
    }
    time.run();
    expect(arrivedMs).toEqual(truthOf(profile, 4));
  });

  it('goes on by the law where the event loop is late, unless that is too much', () => {
    const profile = languageProfile({ step: { floor_ms: 10, per_sequence_us: 0, per_prefill_token_us: 0.001 } });
    const lateMs = (late: number): number[] => {
      const time = new VirtualTime();
      const engine = new LanguageEngine(modelOf(profile), time);
      const ms: number[] = [];
      engine.submit(generation(1, 4), { token: (index) => ms.push(time.nowMs + (index === 1 ? time.hold(late) : 0)) });
      time.run();
      return ms.map(Math.round);
    };
    expect(lateMs(0)).toEqual([10, 20, 30, 40]);
    expect(lateMs(5)).toEqual([10, 25, 30, 40]);
    // It makes up for 50 ms, in which five steps would have been.
    expect(lateMs(200)).toEqual([10, 220, 220, 220]);
  });

  it('shows in the stream: the first token after its prompt, the others a step apart', async () => {
    const { events } = await start(languageProfile({ step: { floor_ms: 10, per_prefill_token_us: 250 } }));
    const body = { prompt: words(1000), max_tokens: 26, ignore_eos: true, stream: true };
    // The prompt takes as long as all other tokens. A machine that is held up makes it look
    // otherwise, but not each time.
    const ratios: number[] = [];
    for (let turn = 0; turn < 5 && !ratios.some(isNearOne); turn++) {
      const found = (await events('/v1/completions', { ...body, prompt: words(1000, `w${turn}`) })).slice(0, -1);
      expect(found).toHaveLength(26);
      const [first, last] = [found[0]?.atMs ?? 0, found.at(-1)?.atMs ?? 0];
      ratios.push(first / (last - first));
    }
    expect(ratios.some(isNearOne), ratios.join()).toBe(true);
  });

  it('is shorter for a prompt whose beginning was computed before', async () => {
    const { post, metric } = await start();
    const cached = async (content: string) => {
      const { json } = await post('/v1/chat/completions', chat(content, { max_tokens: 2, ignore_eos: true }));
      return (json as never as { usage: { prompt_tokens_details: { cached_tokens: number } } }).usage
        .prompt_tokens_details.cached_tokens;
    };
    expect(await cached(words(100))).toBe(0);
    expect(await cached(`${words(100)} and more`)).toBe(96);
    expect(await cached(words(100, 'other'))).toBe(0);
    expect(await metric('prefix_cache_hits_total')).toBe(96);
    expect(await metric('prefix_cache_queries_total')).toBe(302);
  });

  it('knows the answers of a conversation in its next turn', async () => {
    const { post } = await start();
    const question = { role: 'user', content: words(64) };
    const body = { messages: [question], max_tokens: 64, ignore_eos: true };
    const { json } = await post('/v1/chat/completions', body);
    const { message } = (json as never as { choices: [{ message: object }] }).choices[0];
    const next = { ...body, messages: [question, message, { role: 'user', content: 'go on' }] };
    expect((await post('/v1/chat/completions', next)).json).toMatchObject({
      usage: { prompt_tokens: 130, prompt_tokens_details: { cached_tokens: 128 } },
    });
  });
});

const isNearOne = (ratio: number): boolean => ratio > 0.4 && ratio < 2.5;

const generation = (inputTokens: number, outputTokens: number): Generation => ({
  prompt: Array.from({ length: inputTokens }, () => 'a'),
  output: Array.from({ length: outputTokens }, () => 'b'),
  finish: 'length',
});

function modelOf({ models: [model], device }: EmulatorProfile): LanguageModel {
  if (!model?.language) throw new Error('no language model');
  return createLanguageModel(model.language, device.memory_mib, new Map(), seededRandom(1));
}

/** When each of so many equal requests, sent at once, gets each token, in milliseconds. */
function truthOf(profile: EmulatorProfile, requests: number): readonly (readonly number[])[] {
  const { policy, law, spread } = modelOf(profile);
  const batcher = new ContinuousBatcher(policy, law, spread);
  const ms: number[][] = Array.from({ length: requests }, () => []);
  // The engine begins with the first that comes.
  batcher.enqueue({ inputTokens: 10, outputTokens: 20 });
  let step = batcher.step(0);
  for (let id = 1; id < requests; id++) batcher.enqueue({ inputTokens: 10, outputTokens: 20 });
  for (; step; step = batcher.step(step.endNs)) for (const id of step.emitted) ms[id]?.push(step.endNs / 1e6);
  return ms;
}

/** Time that goes on from one wake-up to the next. */
class VirtualTime {
  readonly #due: { readonly ns: number; readonly action: () => void }[] = [];
  #nowNs = 0;
  readonly clock = { nowNs: () => this.#nowNs, wallMs: () => 0, sleep: () => Promise.resolve() };
  readonly wakeUps = {
    at: (ns: number, action: () => void) => {
      this.#due.push({ ns, action });
      return () => undefined;
    },
    close: () => Promise.resolve(),
  };

  get nowMs(): number {
    return this.#nowNs / 1e6;
  }

  /** Lets time pass in the middle of an action; gives back how long. */
  hold(ms: number): number {
    this.#nowNs += ms * 1e6;
    return ms;
  }

  run(): void {
    for (let next = this.#due.shift(); next; next = this.#due.shift()) {
      this.#nowNs = Math.max(this.#nowNs, next.ns);
      next.action();
    }
  }
}

describe('the page of metrics', () => {
  it("has vLLM's names for what runs, waits and was done", async () => {
    const { events, metric, get } = await start(
      languageProfile({ engine: { max_num_seqs: 2 }, step: { floor_ms: 10 } }),
    );
    const body = { prompt: words(10), max_tokens: 50, ignore_eos: true, stream: true };
    const running = Promise.all(Array.from({ length: 5 }, () => events('/v1/completions', body)));
    await expect.poll(() => metric('num_requests_waiting'), { interval: 2, timeout: 10_000 }).toBe(3);
    expect(await metric('num_requests_running')).toBe(2);
    expect(await metric('kv_cache_usage_perc')).toBeGreaterThan(0);
    await running;
    expect(await metric('prompt_tokens_total')).toBe(50);
    expect(await metric('generation_tokens_total')).toBe(250);
    expect(await metric('time_to_first_token_seconds_count')).toBe(5);
    expect(await metric('inter_token_latency_seconds_count')).toBe(245);
    expect(await metric('num_requests_running')).toBe(0);
    expect((await get('/metrics')).text).toMatch(
      /request_success_total\{engine="0",model_name="talk",finished_reason="length"\} 5\n/,
    );
  });

  it('counts preemptions where the KV cache is too small', async () => {
    const engine = { num_gpu_blocks_override: 8, max_model_len: 128, enable_prefix_caching: false };
    const { post, metric } = await start(languageProfile({ engine }));
    const body = { prompt: words(20), max_tokens: 60, ignore_eos: true };
    await Promise.all(Array.from({ length: 4 }, () => post('/v1/completions', body)));
    expect(await metric('num_preemptions_total')).toBeGreaterThan(0);
    expect(await metric('generation_tokens_total')).toBe(240);
  });

  it('lets go of a request whose client has gone', async () => {
    const { url, metric } = await start();
    const gone = new AbortController();
    const body = JSON.stringify({ prompt: 'a', max_tokens: 2000, ignore_eos: true, stream: true });
    const response = await fetch(`${url}/v1/completions`, { method: 'POST', body, signal: gone.signal });
    await response.body?.getReader().read();
    gone.abort();
    await expect.poll(() => metric('num_requests_running')).toBe(0);
    expect(await metric('generation_tokens_total')).toBeLessThan(1000);
  });
});

describe('faults', () => {
  const faulty = (fault: object) => languageProfile({ model: { faults: { infer: [fault] } } });

  it('cut a stream in its middle', async () => {
    const { events } = await start(faulty({ what: 'cut', after_tokens: 3, times: 1 }));
    const body = { prompt: 'a', max_tokens: 10, ignore_eos: true, stream: true };
    await expect(events('/v1/completions', body)).rejects.toThrow();
    expect(await events('/v1/completions', body)).toHaveLength(11);
  });

  it('delay the first token, and fail requests', async () => {
    const { post, events } = await start(faulty({ what: 'delay', delay_ms: 300, times: 1 }));
    const body = { prompt: 'a', max_tokens: 20, ignore_eos: true, stream: true };
    const [slow, usual] = [await events('/v1/completions', body), await events('/v1/completions', body)];
    expect(slow[0]?.atMs ?? 0).toBeGreaterThan(3 * (usual[0]?.atMs ?? 0));
    const failing = await start(faulty({ what: 'fail', status: 'RESOURCE_EXHAUSTED', times: 1 }));
    expect((await failing.post('/v1/completions', { prompt: 'a' })).json).toHaveProperty('error');
    expect((await post('/v1/completions', { prompt: 'a' })).status).toBe(200);
  });
});

it('serves no such paths without a language model', async () => {
  const { httpUrl } = await emulatorForTest();
  for (const path of ['/v1/models', '/health', '/metrics']) {
    expect((await request(`http://${httpUrl}${path}`)).statusCode).toBe(404);
  }
});
