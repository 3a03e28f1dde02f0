import { lookUp } from '#base/look-up.ts';
import { BadRecord } from '#base/records.ts';
import { type ChatMessage, listTexts, type MessagePart, samplingFields } from './prompt.ts';

/** A turn of a conversation in a file. */
export interface RecordedTurn {
  /** The new messages: the user's, and a system message before it. */
  readonly messages: readonly ChatMessage[];
  /** Tokens of the answer; null if the file does not say. */
  readonly outputTokens: number | null;
  /** The recorded answer. */
  readonly answer: string | null;
  readonly thinkMs: number;
  /** Fields of the call that are sent as they are. */
  readonly fields?: JsonRecord;
}

/** A JSON object of a file. */
export type JsonRecord = Readonly<Record<string, unknown>>;

/** Names of an answer's length in files of AIPerf, vLLM, GuideLLM, OpenAI's batches and SGLang. */
const OUTPUT_NAMES = [
  'output_length',
  'output_tokens',
  'max_tokens',
  'max_completion_tokens',
  'output_tokens_count',
  'output_len',
];
/** Names of a prompt's text in such files. */
const TEXT_NAMES = ['prompt', 'text', 'question', 'instruction', 'input'];
/**
 * Fields of a call that change what the model does, sent as they were recorded: those of OpenAI's
 * API, and of vLLM's and SGLang's besides.
 */
const CALL_FIELDS: ReadonlySet<string> = new Set([
  ...samplingFields,
  ...['logit_bias', 'top_logprobs', 'user', 'service_tier', 'store', 'metadata'],
  ...['tools', 'tool_choice', 'parallel_tool_calls', 'response_format', 'reasoning_effort', 'verbosity'],
  ...['chat_template', 'chat_template_kwargs', 'add_generation_prompt', 'continue_final_message'],
  ...['guided_json', 'guided_regex', 'guided_choice', 'guided_grammar', 'structured_outputs', 'regex', 'ebnf'],
]);
/** Fields whose calls cannot be measured as one reply of text, and what to do about them. */
const REFUSED_FIELDS: Readonly<Record<string, string>> = {
  audio: 'leave it out: only text is measured',
  functions: 'write them as "tools"',
};
/** Fields that are read, or that concern the file or the client and not the model. */
const KNOWN_FIELDS: ReadonlySet<string> = new Set([
  ...['messages', 'system', 'system_prompt', 'model', 'stream', 'stream_options', 'n', 'delay', 'role'],
  ...['image', 'images', 'texts', 'id', 'custom_id', 'method', 'url', 'session_id', 'conversation_id', 'timestamp'],
  ...[...OUTPUT_NAMES, ...TEXT_NAMES, 'prompt_len', 'input_len', 'input_tokens', 'prompt_tokens_count'],
]);

/**
 * Returns the conversations of a record in any of the forms that load generators read: ShareGPT's
 * `conversations`, AIPerf's `turns`, calls with OpenAI's `messages`, or a text with or without the
 * length of its answer. With `sessions`, a record is one conversation of all its turns; otherwise
 * the first turn of a conversation, and each call as it was recorded. A conversation without a
 * message of a user is empty. Throws BadRecord.
 */
export function readConversations(record: JsonRecord, sessions: boolean): readonly (readonly RecordedTurn[])[] {
  const { conversations, turns } = record;
  if (Array.isArray(conversations) || Array.isArray(turns)) {
    const all = Array.isArray(conversations)
      ? spoken(conversations.map(shareGptMessage))
      : turnList(turns as unknown[]);
    return [sessions ? all : all.slice(0, 1)];
  }
  const calls = callsIn(record);
  if (!sessions) return calls.map(readCall);
  const last = calls.filter((call, index) => !continues(calls[index + 1], call));
  return [last.flatMap((call, index) => delayed(readSession(call), index === 0 ? record : call))];
}

/** True if the messages of a call begin with all those of the one before. */
function continues(call: JsonRecord | undefined, before: JsonRecord): boolean {
  const [messages, earlier] = [call?.messages, before.messages];
  if (!Array.isArray(messages) || !Array.isArray(earlier) || messages.length <= earlier.length) return false;
  return JSON.stringify(messages.slice(0, earlier.length)) === JSON.stringify(earlier);
}

/** Lets a user wait before the first of these turns as long as a record says. */
function delayed(turns: readonly RecordedTurn[], record: JsonRecord): readonly RecordedTurn[] {
  const [first, ...others] = turns;
  return first ? [{ ...first, thinkMs: computeDelay(record) }, ...others] : turns;
}

/** Returns a call as one turn: all its messages up to the last that is not an answer. */
function readCall(record: JsonRecord): readonly RecordedTurn[] {
  return readTurns(record, (messages) => {
    const last = messages.at(-1);
    const isAnswered = last?.role === 'assistant';
    const said = isAnswered ? messages.slice(0, -1) : messages;
    if (!said.some(({ role }) => role === 'user' || role === 'tool')) return [];
    return [{ messages: said, outputTokens: null, answer: isAnswered ? last.content : null, thinkMs: 0 }];
  });
}

/**
 * Returns the turns of a call. With calls of tools it is one turn, because the server's own answers
 * would not call them alike.
 */
function readSession(record: JsonRecord): readonly RecordedTurn[] {
  const { messages } = record;
  const hasTools =
    Array.isArray(messages) &&
    messages.filter(isRecord).some(({ role, tool_calls: calls }) => role === 'tool' || calls !== undefined);
  return hasTools ? readCall(record) : readTurns(record, spoken);
}

function readTurns(
  record: JsonRecord,
  toTurns: (messages: readonly ChatMessage[]) => readonly RecordedTurn[],
): readonly RecordedTurn[] {
  const { messages } = record;
  const read = Array.isArray(messages)
    ? withLength(toTurns(messages.map(chatMessage)), findLength(record))
    : [textTurn(record)];
  const fields = callFields(record);
  return Object.keys(fields).length === 0 ? read : read.map((turn) => ({ ...turn, fields }));
}

/** Returns the names of the fields of a call that are not sent, and that nothing else reads. */
export function listUnsent(record: JsonRecord): readonly string[] {
  if (Array.isArray(record.conversations) || Array.isArray(record.turns)) return [];
  const names = callsIn(record).flatMap((call) => Object.keys(call));
  return names.filter((name) => !KNOWN_FIELDS.has(name) && !CALL_FIELDS.has(name));
}

/**
 * Returns the calls of a record: `body` in OpenAI's batch files, the list `payload` in
 * perf_analyzer's and GenAI-Perf's, `payloads` in AIPerf's, otherwise the record itself.
 */
function callsIn(record: JsonRecord): readonly JsonRecord[] {
  const { body, payload, payloads } = record;
  if (isRecord(body)) return [body];
  const calls = [payload ?? payloads ?? []].flat();
  return calls.length > 0 && calls.every(isRecord) ? calls : [record];
}

/** Returns the fields of a call that are sent as they are. Throws BadRecord. */
function callFields(record: JsonRecord): JsonRecord {
  for (const [name, hint] of Object.entries(REFUSED_FIELDS))
    if (record[name] !== undefined) throw new BadRecord(`its "${name}" is not supported`, hint);
  const { n = 1 } = record;
  if (n !== 1 && n !== null) throw new BadRecord('its "n" is not 1', 'set it to 1: one answer to a call is measured');
  return Object.fromEntries(Object.entries(record).filter(([name]) => CALL_FIELDS.has(name)));
}

/** Returns the name of the form, for a person. */
export function describeForm(record: JsonRecord): string {
  if (Array.isArray(record.conversations)) return 'conversations in the form of ShareGPT';
  return Array.isArray(record.turns) ? 'conversations' : 'prompts';
}

export const isRecord = (value: unknown): value is JsonRecord =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function textTurn(record: JsonRecord): RecordedTurn {
  const texts = Array.isArray(record.texts) ? record.texts.filter((text) => typeof text === 'string') : [];
  const content = TEXT_NAMES.map((name) => record[name]).find((text) => typeof text === 'string') ?? texts.join('\n');
  const pictures = [record.image ?? [], record.images ?? []].flat().map(toPicture);
  if (content === '' && pictures.length === 0) {
    throw new BadRecord(
      'it has no prompt',
      'write {"prompt": "…", "output_length": 100}, or see docs/language-models.md for other forms',
    );
  }
  const system = record.system ?? record.system_prompt;
  return {
    messages: [
      ...(typeof system === 'string' ? [{ role: 'system' as const, content: system }] : []),
      {
        role: 'user',
        content,
        ...(pictures.length > 0 && { parts: [{ type: 'text', text: content }, ...pictures] }),
      },
    ],
    outputTokens: findLength(record),
    answer: null,
    thinkMs: computeDelay(record),
  };
}

/** A leading system turn precedes the user's first one. */
function turnList(turns: readonly unknown[]): readonly RecordedTurn[] {
  const records = turns.filter(isRecord);
  if (records.length < turns.length)
    throw new BadRecord('a turn of it is not an object', 'write {"text": "…"} for each turn');
  const [first, ...others] = records;
  if (first?.role !== 'system') return records.map(textTurn);
  const [system, ...rest] = [textTurn(first), ...others.map(textTurn)] as [RecordedTurn, ...RecordedTurn[]];
  const content = listTexts(system.messages).join('\n');
  return rest.map((turn, index) =>
    index === 0 ? { ...turn, messages: [{ role: 'system', content }, ...turn.messages] } : turn,
  );
}

/**
 * Returns turns of messages in spoken order. Leaves out what an assistant says before any question.
 */
function spoken(messages: readonly ChatMessage[]): readonly RecordedTurn[] {
  const turns: RecordedTurn[] = [];
  let before: ChatMessage[] = [];
  for (const message of messages) {
    const last = turns.at(-1);
    if (message.role === 'user') {
      turns.push({ messages: [...before, message], outputTokens: null, answer: null, thinkMs: 0 });
      before = [];
    } else if (message.role === 'system' || message.role === 'developer') before.push(message);
    else if (last) turns[turns.length - 1] = { ...last, answer: (last.answer ?? '') + (message.content ?? '') };
  }
  return turns;
}

const withLength = (turns: readonly RecordedTurn[], outputTokens: number | null): readonly RecordedTurn[] =>
  outputTokens === null ? turns : turns.map((turn) => ({ ...turn, outputTokens }));

/** ShareGPT's names of the speakers. */
const speakers: Readonly<Record<string, ChatMessage['role']>> = {
  human: 'user',
  user: 'user',
  gpt: 'assistant',
  chatgpt: 'assistant',
  bard: 'assistant',
  bing: 'assistant',
  assistant: 'assistant',
  model: 'assistant',
  system: 'system',
};

function shareGptMessage(said: unknown): ChatMessage {
  const { from, value } = isRecord(said) ? said : {};
  if (typeof from === 'string' && typeof value === 'string') return toMessage(from, value);
  throw new BadRecord('a part of its "conversations" is incomplete', 'write {"from": "human", "value": "…"}');
}

function chatMessage(said: unknown): ChatMessage {
  const { role, content, tool_calls, tool_call_id } = isRecord(said) ? said : {};
  const parts = Array.isArray(content) ? content.map(readPart) : [];
  const text = Array.isArray(content)
    ? parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
    : (content ?? null);
  const isWhole = typeof text === 'string' || (text === null && Array.isArray(tool_calls));
  if (typeof role !== 'string' || !isWhole)
    throw new BadRecord('a part of its "messages" is incomplete', 'write {"role": "user", "content": "…"}');
  return {
    ...toMessage(role, text, { ...speakers, developer: 'developer', tool: 'tool' }),
    ...(parts.some(({ type }) => type !== 'text') && { parts }),
    ...(Array.isArray(tool_calls) && { tool_calls }),
    ...(typeof tool_call_id === 'string' && { tool_call_id }),
  };
}

function toMessage<C extends string | null>(
  who: string,
  content: C,
  roles: Readonly<Record<string, ChatMessage['role']>> = speakers,
): ChatMessage & { readonly content: C } {
  const role = lookUp(roles, who);
  if (role) return { role, content };
  throw new BadRecord(`'${who}' is not a known role`, 'write human, gpt and system, or user, assistant and system');
}

function readPart(part: unknown): MessagePart {
  const { text, image_url: picture } = isRecord(part) ? part : {};
  if (typeof text === 'string') return { type: 'text', text };
  if (typeof picture === 'string') return toPicture(picture);
  const { url, detail } = isRecord(picture) ? picture : {};
  if (typeof url !== 'string')
    throw new BadRecord('a message contains more than text and pictures', 'leave out audio and files');
  return { type: 'image_url', image_url: { url, ...(typeof detail === 'string' && { detail }) } };
}

/** Takes a data URL, the address of a picture, or the path of its file. */
function toPicture(url: unknown): MessagePart {
  if (typeof url === 'string') return { type: 'image_url', image_url: { url } };
  throw new BadRecord('a picture of it is no text', 'give a path, a URL, or a data URL');
}

function findLength(record: JsonRecord): number | null {
  const name = OUTPUT_NAMES.find((each) => record[each] !== undefined && record[each] !== null);
  if (name === undefined) return null;
  const tokens = record[name];
  if (Number.isSafeInteger(tokens) && (tokens as number) > 0) return tokens as number;
  throw new BadRecord(`its "${name}" is not a number of tokens`, 'give a whole number of 1 or more');
}

function computeDelay({ delay = 0 }: JsonRecord): number {
  if (typeof delay === 'number' && delay >= 0 && Number.isFinite(delay)) return delay;
  throw new BadRecord('its "delay" is not a time', 'give milliseconds of 0 or more');
}
