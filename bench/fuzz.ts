import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  existsSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { BlockCoverage } from '../test/support/block-coverage.ts';

/**
 * A million damaged inputs for each parser of what is not ours, guided by V8's block coverage:
 * `npm run bench:fuzz -- --at 4`. Each parser has a process of its own, below 1 GB of heap. An
 * input that fails, that is read for longer than 20 s, or that ends the process becomes an example
 * in `test/fuzz/examples`. `--only` chooses parsers by a part of their names, `--seed` other inputs
 * (the date, unless given), `--minutes` ends each parser earlier, `--corpus` names a folder that
 * keeps the inputs that reached new code, `--log` a file for the figures.
 */
const { values } = parseArgs({
  options: {
    cases: { type: 'string', default: '1000000' },
    minutes: { type: 'string', default: '120' },
    seed: { type: 'string', default: new Date().toISOString().slice(0, 10) },
    only: { type: 'string', default: '' },
    at: { type: 'string', default: '1' },
    corpus: { type: 'string' },
    log: { type: 'string' },
    /** Of one process: the parser's name, and the file with the input that it reads. */
    parser: { type: 'string' },
    input: { type: 'string', default: '' },
  },
});
const HEAP_MIB = 1024;
const POLL_MS = 1_000;
/** What a process ends with that has kept its example. */
const DEFECT = 3;

// What reads files writes them, and no disk need see that.
if (process.platform === 'linux') process.env.TMPDIR ??= '/dev/shm';
// Stack traces take half of the time of what refuses, and nobody sees those of refusals.
if (values.parser !== undefined) Error.stackTraceLimit = 0;
// Before the parsers, because V8 counts the blocks only of what it compiles from now on.
const guide = values.parser === undefined ? null : new BlockCoverage();
const { fuzzSubject, HANG_MS, keepExample } = await import('../test/support/guided-fuzz.ts');
const { parsers } = await import('../test/fuzz/parsers/registry.ts');

if (values.parser === undefined) await all();
else await one(values.parser);

/**
 * Runs each in its process, and looks after the input that it reads: a process that hangs or dies
 * cannot say which it was.
 */
async function all(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tritune-fuzz-'));
  const queue = parsers.filter(({ name }) => name.includes(values.only));
  const lane = async (number: number): Promise<void> => {
    const input = join(folder, `input-${number}`);
    for (let subject = queue.shift(); subject; subject = queue.shift()) {
      rmSync(input, { force: true });
      const more = ['--parser', subject.name, '--input', input, '--seed', values.seed];
      const child = spawn(
        process.execPath,
        [`--max-old-space-size=${HEAP_MIB}`, import.meta.filename, ...process.argv.slice(2), ...more],
        { stdio: 'inherit', env: { ...process.env, TMPDIR: folder } },
      );
      let hangs = false;
      const poll = setInterval(() => {
        // It has none until the parsers are loaded.
        const readSinceMs = statSync(input, { throwIfNoEntry: false })?.mtimeMs;
        hangs = readSinceMs !== undefined && Date.now() - readSinceMs > HANG_MS;
        if (hangs) child.kill('SIGKILL');
      }, POLL_MS);
      const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
      clearInterval(poll);
      if (code === 0) continue;
      process.exitCode = 1;
      if (code === DEFECT) continue;
      const why = hangs ? 'hangs' : `ended its process with ${code ?? signal}`;
      const example = existsSync(input) ? ` on ${keepExample(subject, readFileSync(input))}` : '';
      report(`${subject.name} ${why}${example}`);
    }
  };
  await Promise.all(Array.from({ length: Number(values.at) }, (_, number) => lane(number)));
  rmSync(folder, { recursive: true, force: true });
}

async function one(name: string): Promise<void> {
  // A library says there what it does not know.
  console.error = console.warn = () => undefined;
  const subject = parsers.find((parser) => parser.name === name);
  if (!subject) throw new Error(`no parser is called '${name}'`);
  const input = openSync(values.input, 'w');
  const startMs = performance.now();
  try {
    const { cases, inputs, blocks, longestMs } = await fuzzSubject(subject, {
      cases: Number(values.cases),
      limitMs: Number(values.minutes) * 60_000,
      seed: values.seed,
      ...(guide && { guide }),
      ...(values.corpus !== undefined && { corpusFolder: values.corpus }),
      onCase: (bytes) => {
        ftruncateSync(input, bytes.length);
        writeSync(input, bytes, 0, bytes.length, 0);
      },
    });
    const seconds = (performance.now() - startMs) / 1e3;
    const peakMb = process.resourceUsage().maxRSS / 1e3;
    report(
      `${cases} cases, ${(cases / seconds).toFixed(0)}/s, ${inputs} inputs kept, ${blocks} blocks, longest ${longestMs.toFixed(0)} ms, at most ${peakMb.toFixed(0)} MB: ${name}`,
    );
    process.exit(0);
  } catch (error) {
    report(String(error));
    console.log((error as Error).cause);
    process.exit(DEFECT);
  }
}

function report(line: string): void {
  console.log(line);
  if (values.log !== undefined) appendFileSync(values.log, `${line}\n`);
}
