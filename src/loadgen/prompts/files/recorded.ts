import { lookUp } from '../../../base/look-up.ts';
import { BadRecord } from '../../../base/records.ts';
import type { ChatMessage } from '../prompt.ts';

/** A turn of a conversation in a file. */
export interface RecordedTurn {
  /** The new messages: the user's, and a system message before it. */
  readonly messages: readonly ChatMessage[];
  /** Tokens of the answer; null if the file does not say. */
  readonly outputTokens: number | null;
  /** The recorded answer. */
  readonly answer: string | null;
  readonly thinkMs: number;
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
 * Returns the turns of a record in any of the forms that load generators read: ShareGPT's
 * `conversations`, AIPerf's `turns`, OpenAI's `messages`, or a text with or without the length of
 * its answer. Empty if it has no user message. Throws BadRecord.
 */
export function readTurns(record: JsonRecord): readonly RecordedTurn[] {
  const { conversations, turns, messages } = record;
  if (Array.isArray(conversations)) return spoken(conversations.map(shareGptMessage));
  if (Array.isArray(turns)) return turnList(turns);
  // A request in OpenAI's batch file has its body one level down.
  if (isRecord(record.body)) return readTurns(record.body);
  if (Array.isArray(messages)) return withLength(spoken(messages.map(chatMessage)), findLength(record));
  return [textTurn(record)];
}

/** Returns the name of the form, for a person. */
export function describeForm(record: JsonRecord): string {
  if (Array.isArray(record.conversations)) return 'conversations in the form of ShareGPT';
  return Array.isArray(record.turns) ? 'conversations' : 'prompts';
}

export const isRecord = (value: unknown): value is JsonRecord =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function textTurn(record: JsonRecord): RecordedTurn {
  const content = TEXT_NAMES.map((name) => record[name]).find((text) => typeof text === 'string');
  if (content === undefined || content === '') {
    throw new BadRecord(
      'it has no prompt',
      'write {"prompt": "…", "output_length": 100}, or see docs/language-models.md for other forms',
    );
  }
  const system = record.system ?? record.system_prompt;
  return {
    messages: [
      ...(typeof system === 'string' ? [{ role: 'system' as const, content: system }] : []),
      { role: 'user', content },
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
  const content = system.messages.map((message) => message.content).join('\n');
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
    } else if (message.role === 'system') before.push(message);
    else if (last) turns[turns.length - 1] = { ...last, answer: (last.answer ?? '') + message.content };
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
  const { role, content } = isRecord(said) ? said : {};
  const text = Array.isArray(content) ? content.map(partText).join('') : content;
  if (typeof role === 'string' && typeof text === 'string')
    return toMessage(role === 'developer' ? 'system' : role, text);
  throw new BadRecord('a part of its "messages" is incomplete', 'write {"role": "user", "content": "…"}');
}

function toMessage(who: string, content: string): ChatMessage {
  const role = lookUp(speakers, who);
  if (role) return { role, content };
  throw new BadRecord(`'${who}' is not a known role`, 'write human, gpt and system, or user, assistant and system');
}

function partText(part: unknown): string {
  if (isRecord(part) && typeof part.text === 'string') return part.text;
  throw new BadRecord('a message contains more than text', 'leave out images and audio: only text is sent');
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
