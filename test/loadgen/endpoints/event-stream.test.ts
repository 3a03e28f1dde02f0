import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EventStreamReply } from '#loadgen/endpoints/event-stream-reply.ts';
import { EventTemplate, isStringBody } from '#loadgen/endpoints/event-template.ts';
import { createTritonEvents, type EventFormat, openAiEvents } from '#loadgen/endpoints/stream-event.ts';
import type { SendOutcome } from '#loadgen/types.ts';

const formats = { openAi: openAiEvents, triton: createTritonEvents('text_output') };

/**
 * Reads a stream the plain way: whole, and every event with JSON.parse. Pieces are the numbers of
 * the events with output, from 0.
 */
function plainly(body: string, format: EventFormat) {
  const pieces: number[] = [];
  let [output, isEnded, text]: [number | undefined, boolean, string] = [undefined, false, ''];
  let input: number | undefined;
  let error: string | undefined;
  const events = body.split(/\r?\n\r?\n/).flatMap((block) => {
    const data = block.split(/\r?\n/).flatMap((line) => /^data: ?(.*)$/s.exec(line)?.[1] ?? []);
    return data.length === 0 ? [] : [data.join('\n')];
  });
  for (const [number, data] of events.entries()) {
    if (error !== undefined) break;
    if (data === '[DONE]') {
      isEnded = true;
      continue;
    }
    const event = format.read(JSON.parse(data));
    if (event.output !== '') pieces.push(number);
    text += event.answer;
    if (event.outputTokens !== undefined) output = event.outputTokens + (format.addsTokens ? (output ?? 0) : 0);
    input = event.inputTokens ?? input;
    isEnded ||= event.isEnd;
    error = event.error;
  }
  return { pieces, output, input, isEnded, error, text };
}

/** Reads a stream in pieces of bytes, of which each comes a nanosecond after the one before. */
function inPieces(reply: EventStreamReply, pieces: readonly Buffer[], keepsText = false): SendOutcome {
  reply.begin(0, keepsText);
  for (const [index, piece] of pieces.entries()) {
    reply.heard(index + 1);
    // Every piece lies in a buffer that is written over afterwards, as a socket's is.
    const buffer = Buffer.from(`${'\n'.repeat(7)}${piece.toString('latin1')}${'\n'.repeat(5)}`, 'latin1');
    reply.push(buffer, 7, 7 + piece.length);
    buffer.fill(0x22);
  }
  return reply.outcome();
}

const text = fc.oneof(
  fc.constantFrom(
    '',
    ' the',
    '\n',
    '"',
    '\\',
    '\\"',
    '}',
    '"},"finish_reason":"stop',
    'é',
    '漢字',
    '🙂',
    '\u0001',
    '\u2028',
  ),
  fc.string({ unit: 'grapheme', maxLength: 8 }),
);
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });

const chatChunk = fc.record(
  {
    id: fc.constantFrom('a', 'b'),
    choices: fc.array(
      fc.record(
        {
          index: fc.constant(0),
          delta: fc.record(
            {
              role: maybe(fc.constant('assistant')),
              content: fc.option(text),
              reasoning_content: maybe(text),
              reasoning: maybe(text),
            },
            { requiredKeys: [] },
          ),
          finish_reason: fc.constantFrom(null, null, null, null, 'length'),
        },
        { requiredKeys: ['delta'] },
      ),
      { maxLength: 2 },
    ),
    usage: maybe(fc.option(fc.record({ prompt_tokens: fc.nat(99), completion_tokens: fc.nat(99) }))),
    obfuscation: maybe(text),
  },
  { requiredKeys: ['choices'] },
);
/** Nearly alike, as the events of a reply are. */
const usualChunk = text.map((content) => ({
  id: 'a',
  choices: [{ index: 0, delta: { content }, finish_reason: null }],
  usage: null,
}));
const tritonChunk = fc.record(
  {
    model_name: fc.constant('m'),
    text_output: fc.oneof(text, fc.array(text, { maxLength: 2 })),
    num_output_tokens: maybe(fc.nat(3)),
    num_input_tokens: maybe(fc.nat(9)),
    error: maybe(fc.constant('broken')),
  },
  { requiredKeys: ['text_output'] },
);

/** JSON as other programs write it: with blanks, and with escapes for what needs none. */
const written = (value: object, style: number): string => {
  const json = style === 1 ? JSON.stringify(value, null, 1).replaceAll('\n', ' ') : JSON.stringify(value);
  if (style !== 2) return json;
  return json.replace(/[\u0080-\uffff]/g, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`);
};

const stream = (chunks: fc.Arbitrary<object>) =>
  fc
    .record({
      chunks: fc.array(fc.tuple(chunks, fc.constantFrom(0, 0, 0, 1, 2)), { maxLength: 30 }),
      lineEnd: fc.constantFrom('\n', '\r\n'),
      noise: fc.constantFrom('', ': ping', 'event: message', 'id: 7', 'retry: 5'),
      isDone: fc.boolean(),
      space: fc.constantFrom('', ' '),
      cuts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 40 }),
    })
    .map(({ chunks: all, lineEnd, noise, isDone, space, cuts }) => {
      const datas = [...all.map(([chunk, style]) => written(chunk, style)), ...(isDone ? ['[DONE]'] : [])];
      const lines = datas.flatMap((data) => [...(noise === '' ? [] : [noise]), `data:${space}${data}`, '']);
      const body = lines.map((line) => line + lineEnd).join('');
      const bytes = Buffer.from(body);
      const places = [...cuts.map((cut) => Math.floor(cut * bytes.length)), bytes.length].sort((a, b) => a - b);
      let at = 0;
      const pieces = places.map((place) => {
        const piece = Buffer.from(bytes.subarray(at, place));
        at = place;
        return piece;
      });
      return { body, bytes, pieces };
    });

describe('a streamed reply', () => {
  it.each([
    [
      'chunks of OpenAI',
      formats.openAi,
      fc.oneof({ weight: 4, arbitrary: usualChunk }, { weight: 1, arbitrary: chatChunk }),
    ],
    ['events of Triton', formats.triton, tritonChunk],
  ] as const)('says of %s what JSON.parse says, in whatever pieces its bytes come', (_, format, chunks) => {
    // One reader for all, as a connection has: nothing of a reply may be left in the next.
    const reply = new EventStreamReply(format);
    fc.assert(
      fc.property(stream(chunks), fc.boolean(), ({ body, pieces }, keepsText) => {
        const plain = plainly(body, format);
        const outcome = inPieces(reply, pieces, keepsText);
        if (plain.error !== undefined) expect(outcome).toMatchObject({ kind: 'status', message: plain.error });
        else if (body === '' || !body.includes('data:')) expect(outcome).toMatchObject({ kind: 'malformed' });
        else if (format.saysEnd && !plain.isEnded) expect(outcome).toMatchObject({ kind: 'cut-off' });
        else if (plain.pieces.length === 0) expect(outcome).toMatchObject({ kind: 'empty' });
        else {
          const isCounted = plain.output !== undefined && plain.output > 0;
          expect(outcome).toMatchObject({
            ok: true,
            tokens: {
              outputTokens: isCounted ? plain.output : plain.pieces.length,
              inputTokens: plain.input ?? 0,
              countedBy: isCounted ? 'usage' : 'pieces',
              ...(keepsText && { text: plain.text }),
            },
          });
          expect(outcome.ok && outcome.tokens?.gapsNs.length).toBe(plain.pieces.length - 1);
        }
      }),
      { numRuns: 400 },
    );
  });

  it('times each piece by when its event was whole', () => {
    const reply = new EventStreamReply(openAiEvents);
    const event = (content: string) => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`;
    const parts = [
      event(''),
      `${event('a')}${event('b').slice(0, 20)}`,
      event('b').slice(20),
      event('c'),
      'data: [DONE]\n\n',
    ];
    const outcome = inPieces(
      reply,
      parts.map((part) => Buffer.from(part)),
    );
    expect(outcome).toMatchObject({
      ok: true,
      tokens: { firstNs: 2, gapsNs: [1, 1], outputTokens: 3, countedBy: 'pieces' },
    });
  });

  it('parses few of the events of a reply', () => {
    const reply = new EventStreamReply(openAiEvents);
    const event = (content: string, created: number) =>
      `data: ${JSON.stringify({ id: 'x', created, choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`;
    const words = Array.from({ length: 200 }, (_, index) => event(index % 3 === 0 ? `"${index}\\` : ` ${index}\n`, 1));
    const { parse } = JSON;
    let parses = 0;
    JSON.parse = (json: string) => {
      parses++;
      return parse(json);
    };
    try {
      const outcome = inPieces(
        reply,
        [...words, 'data: [DONE]\n\n'].map((each) => Buffer.from(each)),
      );
      expect(outcome).toMatchObject({ ok: true, tokens: { outputTokens: 200 } });
      expect(parses).toBeLessThan(5);
      // Of a server whose every event differs in something else, each is parsed once, and hardly
      // more.
      parses = 0;
      const others = Array.from({ length: 200 }, (_, index) => event(' a', index));
      expect(
        inPieces(
          reply,
          [...others, 'data: [DONE]\n\n'].map((each) => Buffer.from(each)),
        ),
      ).toMatchObject({ ok: true });
      expect(parses).toBeLessThan(220);
    } finally {
      JSON.parse = parse;
    }
  });

  it('ignores events without data, which keep a connection open', () => {
    const reply = new EventStreamReply(openAiEvents);
    const event = `data: ${JSON.stringify({ choices: [{ delta: { content: 'a' } }] })}\n\n`;
    const outcome = inPieces(reply, [Buffer.from(`data:\n\n${event}data: \n\ndata:  \n\n${event}data: [DONE]\n\n`)]);
    expect(outcome).toMatchObject({ ok: true, tokens: { outputTokens: 2 } });
  });

  it('reads events that a server divides by single line feeds', () => {
    const reply = new EventStreamReply(openAiEvents);
    const event = (content: string) => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n`;
    const outcome = inPieces(reply, [Buffer.from(`${event('a')}${event('b')}data: [DONE]\n`)]);
    expect(outcome).toMatchObject({ ok: true, tokens: { outputTokens: 2 } });
  });

  it.each([
    ['a page of HTML', '<html>\n\n</html>\n', 'malformed'],
    ['an event that is no JSON', 'data: {"choices":\n\n', 'malformed'],
    ['nothing', '', 'malformed'],
    ['a beginning alone', 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n', 'cut-off'],
    ['an end alone', 'data: [DONE]\n\n', 'empty'],
    ['an error', 'data: {"error":{"message":"no memory","code":500}}\n\ndata: [DONE]\n\n', 'status'],
    ['an error in words', 'data: {"object":"error","message":"no memory"}\n\n', 'status'],
  ])('fails with %s', (_, body, kind) => {
    expect(inPieces(new EventStreamReply(openAiEvents), [Buffer.from(body)])).toMatchObject({ ok: false, kind });
  });
});

describe('a template', () => {
  it('takes what stands between quotes for a string as JSON.parse does', () => {
    const bytes = fc.oneof(
      fc.string({ maxLength: 6 }),
      fc.constantFrom('\\', '\\u12', '\\u00e9', '\\x', '\\"', '"', '\n', 'a\\\\'),
    );
    fc.assert(
      fc.property(bytes, bytes, (one, other) => {
        const body = Buffer.from(one + other);
        let isString = true;
        try {
          JSON.parse(`"${one + other}"`);
        } catch {
          isString = false;
        }
        expect(isStringBody(body, 0, body.length)).toBe(isString);
      }),
    );
  });

  it('is made of the output alone, wherever else the same key stands', () => {
    const event = { content: 'not this', choices: [{ delta: { content: 'this' }, content: 'nor this' }] };
    const bytes = Buffer.from(JSON.stringify(event));
    const template = EventTemplate.of(bytes, openAiEvents.read(event), openAiEvents);
    const changed = (from: string, to: string): Buffer => Buffer.from(bytes.toString().replace(`"${from}"`, `"${to}"`));
    const matches = (other: Buffer): boolean | undefined => template?.matches(other, 0, other.length);
    expect(matches(changed('this', 'other words'))).toBe(true);
    expect(matches(changed('this', ''))).toBe(false);
    expect(matches(changed('not this', 'other'))).toBe(false);
    expect(matches(changed('nor this', 'other'))).toBe(false);
  });
});
