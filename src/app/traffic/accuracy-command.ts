import { resolve } from 'node:path';
import { interrupted } from '#base/abort.ts';
import { TrituneError } from '#base/errors.ts';
import { plainLine } from '#base/format.ts';
import { fileLimits, readEndSync } from '#base/read-file.ts';
import { newFileIn, writeIn } from '#base/run-files.ts';
import { BYTES_PER_MIB, MS_PER_S } from '#base/units.ts';
import { runCommand } from '#launch/command.ts';
import type { TaskMetric } from '#loadgen/accuracy.ts';
import { numericType } from '#loadgen/input-data/data-types.ts';
import { countTexts, decodeTexts } from '#loadgen/input-data/text-elements.ts';
import type { OutputTensor } from '#loadgen/types.ts';

/** A command that reads a model's outputs and prints a metric, and the limit of the metric. */
export interface AccuracyCommand {
  readonly command: string;
  readonly metric: string;
  readonly operator: '>=' | '<=' | '>' | '<';
  readonly limit: number;
}

/** In the run's directory. */
const FOLDER = 'accuracy';
const MAX_SECONDS = 600;
const MAX_LETTERS = 300;

/** Reads a command and a limit such as `top1>=0.75`. Errors: USAGE. */
export function parseAccuracyCommand([command = '', text = '']: readonly string[]): AccuracyCommand {
  const [, metric, operator, number, percent] =
    /^\s*([\w.-]+)\s*(>=|<=|>|<)\s*(-?\d+(?:\.\d+)?(?:e-?\d+)?)\s*(%?)\s*$/i.exec(text) ?? [];
  if (command.trim() === '' || metric === undefined) {
    const reason = `--accuracy-command has no command, or '${plainLine(text)}' is not a limit of what it prints`;
    throw new TrituneError('USAGE', reason, "write for example --accuracy-command 'python top1.py' 'top1>=0.75'");
  }
  const limit = Number(number) / (percent ? 100 : 1);
  return { command, metric, operator: operator as AccuracyCommand['operator'], limit };
}

/** Outputs of replies, as the command reads them. */
export interface OutputLines {
  /** Adds a reply to the request of this index. Throws INPUT_INVALID beyond 256 MiB in all. */
  add(request: number, outputs: readonly OutputTensor[]): void;
  read(): string;
}

export function collectOutputs(): OutputLines {
  const lines: string[] = [];
  let length = 0;
  return {
    add: (request, outputs) => {
      const line = formatReply(request, outputs);
      length += line.length + 1;
      if (length > fileLimits.results) {
        const what = `the outputs for --accuracy-command are larger than ${fileLimits.results / BYTES_PER_MIB} MiB`;
        throw new TrituneError('INPUT_INVALID', what, 'give fewer requests with --input-data');
      }
      lines.push(line);
    },
    read: () => lines.map((line) => `${line}\n`).join(''),
  };
}

/**
 * Numbers are written as Python's `json` reads them, with NaN and Infinity; 64-bit integers keep
 * all digits.
 */
function formatReply(request: number, outputs: readonly OutputTensor[]): string {
  const tensors = outputs.map(({ name, datatype, shape, raw }) => {
    const head = JSON.stringify({ datatype, ...(shape && { shape }) }).slice(0, -1);
    return `${JSON.stringify(name)}:${head},"data":[${formatValues(datatype, raw).join()}]}`;
  });
  return `{"request":${request},"outputs":{${tensors.join()}}}`;
}

function formatValues(datatype: string, raw: Uint8Array): readonly string[] {
  const type = numericType(datatype);
  if (!type) {
    if (countTexts(raw) === null) return [];
    return decodeTexts(raw).map((text) => JSON.stringify(Buffer.from(text).toString('utf8')));
  }
  const view = new DataView(raw.buffer, raw.byteOffset, raw.byteLength);
  return Array.from({ length: Math.floor(raw.byteLength / type.bytes) }, (_, index) => {
    const value = String(type.read(view, index * type.bytes));
    return type.kind === 'bool' ? String(value !== '0') : value;
  });
}

/**
 * Runs the command for these outputs, which it finds in a folder of the run's directory, and
 * returns the metric: the last line that it printed as `NAME VALUE` (or `NAME=VALUE`,
 * `NAME: VALUE`), or else its last line if that is a number alone. Errors: USAGE if it fails,
 * prints no such line, or takes over ten minutes; OUTPUT_UNWRITABLE; INTERRUPTED.
 */
export async function runAccuracyCommand(
  { command, metric, operator, limit }: AccuracyCommand,
  lines: OutputLines,
  directory: string,
  signal: AbortSignal,
): Promise<TaskMetric> {
  const outputs = await writeIn(directory, [FOLDER, 'outputs.jsonl'], lines.read());
  const log = await newFileIn(directory, [FOLDER, 'command.log']);
  const deadline = AbortSignal.timeout(MAX_SECONDS * MS_PER_S);
  const program = { words: command, directory: process.cwd(), env: { TRITUNE_OUTPUTS: resolve(outputs) }, log };
  const ending = await runCommand(program, AbortSignal.any([signal, deadline]));
  if (signal.aborted) throw interrupted(signal);
  const printed = readEndSync(log).trimEnd().split('\n');
  const last = plainLine(printed.at(-1) ?? '', MAX_LETTERS);
  if (deadline.aborted) throw failed(`took longer than ${MAX_SECONDS} s`, log);
  if (ending !== null) throw failed(`${ending}: ${last}`, log);
  const value = findMetric(printed, metric);
  if (value === null) throw failed(`printed no value of '${metric}', but: ${last}`, log);
  const holds = { '>=': value >= limit, '<=': value <= limit, '>': value > limit, '<': value < limit }[operator];
  return { name: metric, value, required: `${metric}${operator}${limit}`, holds };
}

/** Returns the metric in what the command printed; null if it is not there. */
export function findMetric(lines: readonly string[], metric: string): number | null {
  const number = '(-?\\d+(?:\\.\\d+)?(?:e[-+]?\\d+)?)';
  const name = metric.replace(/[.]/g, '\\.');
  const named = new RegExp(`^\\s*${name}\\s*[:=]?\\s*${number}\\s*$`, 'i');
  const alone = new RegExp(`^\\s*${number}\\s*$`, 'i');
  const text = lines.findLast((line) => named.test(line));
  const [, value] = (text === undefined ? alone.exec(lines.at(-1) ?? '') : named.exec(text)) ?? [];
  return value === undefined ? null : Number(value);
}

const failed = (how: string, log: string): TrituneError =>
  new TrituneError('USAGE', `the accuracy command ${how}`, `correct the command; all that it printed is in ${log}`);
