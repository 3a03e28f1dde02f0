import { type Distribution, wholeNumbers } from '#base/distribution.ts';
import { formatMessage, TrituneError } from '#base/errors.ts';
import { listed, plainLine } from '#base/format.ts';
import { type Random, seededRandom } from '#base/random.ts';
import { BadRecord, type FileRecord, invalidAt, readFileRecords } from '#base/records.ts';
import { loadPictures } from './pictures.ts';
import { listTexts, type Prompt } from './prompt.ts';
import type { Conversation, PromptSource } from './prompt-source.ts';
import { TraceRows, type TraceSlice } from './prompt-trace.ts';
import {
  describeForm,
  isRecord,
  type JsonRecord,
  listUnsent,
  type RecordedTurn,
  readConversations,
} from './recorded-prompts.ts';
import type { Tokenizer } from './tokenizer.ts';
import { type CsvTrace, findCsvTrace, mooncakeRow } from './trace-rows.ts';

/**
 * Keeps a random selection from a stream of unknown length, each item equally likely, in order of
 * arrival (Vitter, Random Sampling with a Reservoir, 1985, algorithm R).
 */
class Reservoir<T> {
  readonly #most: number;
  readonly #random: Random;
  readonly #kept: { readonly item: T; readonly number: number }[] = [];
  #seen = 0;

  constructor(most: number, random: Random) {
    this.#most = most;
    this.#random = random;
  }

  get seen(): number {
    return this.#seen;
  }

  add(item: T): void {
    const number = this.#seen++;
    const place = number < this.#most ? number : this.#random.int(0, number);
    if (place < this.#most) this.#kept[place] = { item, number };
  }

  /** The kept items, in order of arrival. */
  get items(): readonly T[] {
    return this.#kept.toSorted((one, other) => one.number - other.number).map(({ item }) => item);
  }
}

/** Options for reading a file. */
export interface PromptFileRule {
  /**
   * Tokens of a reply if the file does not say; null: as many as the recorded answer, or the
   * server's choice.
   */
  readonly outputTokens: Distribution | null;
  /**
   * The maximum number of prompts or conversations; null takes a whole trace, and `USUAL_PROMPTS`
   * of other files.
   */
  readonly prompts: number | null;
  /**
   * True to hold conversations turn by turn, with the model's own answers; otherwise the first turn
   * of each is sent, and calls as they were recorded.
   */
  readonly sessions: boolean;
  readonly thinkMs: Distribution | null;
  readonly slice: TraceSlice | null;
  /** null: traces continue to their recorded length. */
  readonly ignoresEnd: boolean | null;
  readonly seed: number;
}

const USUAL_PROMPTS = 10_000;
/** Turns of a session whose records follow each other; they are all held until it ends. */
const MAX_TURNS = 10_000;
/** Fields that are not sent, of which a note names no more. */
const MAX_NAMED = 8;
/** Letters of such a name in that note. */
const MAX_NAME = 40;

/**
 * Reads prompts from a file in any of these forms, detected by its first record: ShareGPT's
 * conversations, JSON lines or a JSON list of prompts or conversations, Mooncake's, BurstGPT's and
 * Azure's traces, one prompt per line. Picks texts at random if there are more than wanted. Memory
 * is bounded by the kept prompts. Errors: INPUT_INVALID with the line.
 */
export async function readPromptFile(path: string, rule: PromptFileRule, tokenizer: Tokenizer): Promise<PromptSource> {
  let reader: Reader | null = null;
  for await (const record of readFileRecords(path)) {
    try {
      if (reader) reader.add(record.text);
      else reader = chooseReader(record, rule);
    } catch (error) {
      throw error instanceof BadRecord ? invalidAt(path, record.line, error.message, error.hint) : error;
    }
  }
  const source = reader?.source(tokenizer);
  if (source && source.conversations.length > 0) return loadPictures(source, path);
  const what = rule.slice && reader ? 'nothing came in that slice of it' : 'it has no prompt';
  throw new TrituneError('INPUT_INVALID', `${path}: ${what}`, 'see docs/language-models.md for the formats');
}

/** Takes the records of a file after the first, which selected this reader. */
interface Reader {
  /** Throws BadRecord. */
  add(text: string): void;
  source(tokenizer: Tokenizer): PromptSource;
}

function chooseReader({ text }: FileRecord, rule: PromptFileRule): Reader {
  const trace = findCsvTrace(text);
  if (trace) return traceReader(rule, trace.name, (line) => trace.toRow(line));
  if (!/^[{["]/.test(text)) {
    if (/^[\w ]+(,[\w ]+)+$/.test(text) && /token|timestamp/i.test(text)) throw unknownCsv();
    return textReader(rule, text, (line) => ({ conversations: [[plainTurn(line)]] }), 'prompts, one a line');
  }
  const first = parsed(text);
  if (first.input_length !== undefined) {
    const reader = traceReader(rule, 'a Mooncake trace', (line) => mooncakeRow(parsed(line)));
    reader.add(text);
    return reader;
  }
  const unsent = new Set<string>();
  const read = (line: string): ReadRecord => {
    const record = parsed(line);
    for (const name of listUnsent(record)) if (unsent.size < MAX_NAMED) unsent.add(name.slice(0, MAX_NAME));
    const { session_id: session } = record;
    return {
      conversations: readConversations(record, rule.sessions),
      ...(rule.sessions && typeof session === 'string' && { session }),
    };
  };
  return textReader(rule, text, read, describeForm(first), unsent);
}

function traceReader(
  rule: PromptFileRule,
  what: string,
  findRow: (line: string) => ReturnType<CsvTrace['toRow']>,
): Reader {
  const rows = new TraceRows({ ...rule, ignoresEnd: rule.ignoresEnd ?? true });
  return { add: (text) => rows.add(findRow(text)), source: (tokenizer) => rows.source(what, tokenizer) };
}

/** What a record holds. Records of one session, which follow each other, are one conversation. */
interface ReadRecord {
  readonly conversations: readonly (readonly RecordedTurn[])[];
  readonly session?: string;
}

function textReader(
  rule: PromptFileRule,
  first: string,
  read: (text: string) => ReadRecord,
  what: string,
  unsent: ReadonlySet<string> = new Set(),
): Reader {
  const chosen = new Reservoir<readonly RecordedTurn[]>(rule.prompts ?? USUAL_PROMPTS, seededRandom(rule.seed));
  let silent = 0;
  let open: { readonly session: string; readonly turns: RecordedTurn[] } | null = null;
  const take = (turns: readonly RecordedTurn[]): void => {
    if (turns.length === 0) silent++;
    else chosen.add(turns);
  };
  const endSession = (): void => {
    if (open) take(open.turns);
    open = null;
  };
  const add = (text: string): void => {
    const { conversations, session } = read(text);
    if (session === undefined || session !== open?.session) endSession();
    if (session === undefined) conversations.forEach(take);
    else {
      open ??= { session, turns: [] };
      open.turns.push(...conversations.flat());
      if (open.turns.length > MAX_TURNS)
        throw new BadRecord(
          `the session '${plainLine(session)}' has more than ${MAX_TURNS} turns`,
          'give its parts session ids of their own, or leave --sessions out',
        );
    }
  };
  add(first);
  return {
    add,
    source: (tokenizer) => {
      endSession();
      const conversations = promptsIn(chosen.items, rule, tokenizer);
      const notes = [
        `${what}: ${conversations.length} of ${chosen.seen}${conversations.length < chosen.seen ? `, chosen with seed ${rule.seed}` : ''}`,
        ...(silent > 0 ? [`${silent} conversations in which nobody asks are left out`] : []),
        ...(unsent.size > 0 ? [`its fields that are not sent: ${listed([...unsent])}`] : []),
      ];
      return { conversations, arrivalsNs: null, notes };
    },
  };
}

function promptsIn(
  recorded: readonly (readonly RecordedTurn[])[],
  rule: PromptFileRule,
  tokenizer: Tokenizer,
): readonly Conversation[] {
  const random = seededRandom(rule.seed);
  const outputTokens = rule.outputTokens && wholeNumbers(rule.outputTokens, random, 1);
  const thinkMs = rule.thinkMs && wholeNumbers(rule.thinkMs, random, 0);
  const findLength = ({ outputTokens: said, answer }: RecordedTurn): number | null => {
    if (said !== null) return said;
    if (outputTokens) return outputTokens();
    return answer === null ? null : Math.max(1, tokenizer.count(answer));
  };
  const countTokens = ({ messages, fields }: RecordedTurn): number => {
    const tools = fields?.tools === undefined ? [] : [JSON.stringify(fields.tools)];
    const texts = [...listTexts(messages), ...tools];
    return texts.reduce((sum, text) => sum + tokenizer.count(text), 0);
  };
  const toPrompt = (turn: RecordedTurn, isFirst: boolean): Prompt => ({
    messages: turn.messages,
    inputTokens: countTokens(turn),
    maxTokens: findLength(turn),
    ignoresEnd: rule.ignoresEnd ?? false,
    ...(turn.fields && { fields: turn.fields }),
    ...(!isFirst && { thinkMs: thinkMs?.() ?? turn.thinkMs }),
  });
  return recorded.map((turns) => turns.map((turn, index) => toPrompt(turn, index === 0)));
}

function parsed(text: string): JsonRecord {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new BadRecord(
      `it is not JSON: ${formatMessage(error)}`,
      'write one JSON object on each line, or all of them in one JSON list',
    );
  }
  if (isRecord(value)) return value;
  throw new BadRecord('it is not a JSON object', 'write for example {"prompt": "…", "output_length": 100}');
}

const plainTurn = (content: string): RecordedTurn => ({
  messages: [{ role: 'user', content }],
  outputTokens: null,
  answer: null,
  thinkMs: 0,
});

const unknownCsv = (): BadRecord =>
  new BadRecord(
    'a CSV file with these columns is not known',
    'give the columns of BurstGPT (Timestamp, Request tokens, Response tokens) or of Azure (TIMESTAMP, ContextTokens, GeneratedTokens)',
  );
