import { readFileSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TuneOptions } from '#library/options.ts';
import { readJournal } from '#study/records/journal.ts';

/** As it is published: from sources every thread takes twice the memory. */
const { isTrituneError, tune }: typeof import('#library/index.ts') = await import(
  join(import.meta.dirname, '../dist/library/index.js')
);

/** The process of bench/hostile.ts that tunes: one study for each message, several at once. */

export interface StudyOrder {
  readonly id: number;
  readonly options: TuneOptions;
}

export interface StudyEnd {
  readonly id: number;
  /** `DONE`, the code of a coded error, or `UNCODED`. */
  readonly code: string;
  readonly message: string;
  readonly seconds: number;
  /** Of them, those in which it waited for a core of the machine. */
  readonly waitedSeconds: number;
  /** What the study said of the model at its end; null if it changed nothing. */
  readonly restored: boolean | null;
  /** The most memory that this process held while the study ran. */
  readonly peakBytes: number;
}

const SAMPLE_MS = 20;

process.on('message', (order: StudyOrder) => void run(order));
process.on('disconnect', () => process.exit());

async function run({ id, options }: StudyOrder): Promise<void> {
  const output = join(await mkdtemp(join(tmpdir(), 'hostile-')), 'run');
  const startMs = performance.now();
  const waitedBefore = waitedSeconds();
  let peakBytes = 0;
  const watch = setInterval(() => {
    peakBytes = Math.max(peakBytes, process.memoryUsage.rss());
  }, SAMPLE_MS);
  let restored: boolean | null = null;
  let [code, message] = ['DONE', ''];
  try {
    await tune(
      { ...options, output },
      {
        onEvent: (event) => {
          if (event.type === 'model-restored') restored = event.verified;
        },
      },
    );
  } catch (error) {
    code = isTrituneError(error) ? error.code : 'UNCODED';
    message = code === 'INTERNAL' || code === 'UNCODED' ? stackOf(error) : String(error);
  }
  const seconds = (performance.now() - startMs) / 1e3;
  const waited = waitedSeconds() - waitedBefore;
  const unread = await unreadable(output);
  if (unread !== null) [code, message] = ['UNREADABLE', unread];
  await rm(join(output, '..'), { recursive: true, force: true });
  clearInterval(watch);
  peakBytes = Math.max(peakBytes, process.memoryUsage.rss());
  process.send?.({
    id,
    code,
    message: message.slice(0, 10_000),
    seconds,
    waitedSeconds: waited,
    restored,
    peakBytes,
  } satisfies StudyEnd);
}

/** How long the main thread was ready to run, and did not (proc_pid_schedstat). */
const waitedSeconds = (): number => Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ')[1]) / 1e9;

/** Why its journal cannot be read; null if it can be, or if there is none. */
async function unreadable(output: string): Promise<string | null> {
  if (!(await readdir(output).catch((): string[] => [])).includes('journal.jsonl')) return null;
  return readJournal(join(output, 'journal.jsonl')).then(
    () => null,
    (error: unknown) => String(error),
  );
}

function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause ? `${error.stack}\ncause: ${stackOf(error.cause)}` : `${error.stack}`;
}
