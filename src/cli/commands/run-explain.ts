import { readScalingQuestion } from '#app/emit-autoscaler.ts';
import { exitCodes } from '#app/exit-codes.ts';
import { prepareExplanation, writeExplanation } from '#app/explain/documents.ts';
import { explain, toLimit } from '#app/explain/explain.ts';
import { withAutoscalers } from '#app/explain/scaling.ts';
import { type AnyProtocol, withProtocol } from '#app/server/find-protocol.ts';
import { warnIfInsecure } from '#app/server/tls.ts';
import { TrituneError } from '#base/errors.ts';
import { formatDuration } from '#base/format.ts';
import type { ServiceExplanation } from '#explain/explanation.ts';
import { explainLines } from '#headless/explain-lines.ts';
import { listenForInterrupts } from '../interrupts.ts';
import type { Terminal } from '../terminal.ts';
import { type LivePage, openLivePage } from './explain-live.ts';
import type { ParsedExplainOptions } from './explain-options.ts';

/**
 * Observes, explains and prints; an interrupt ends the observation, and what was seen is explained.
 * Returns the exit code. Errors: USAGE, INPUT_INVALID, MODEL_UNKNOWN, SERVER_*, OUTPUT_UNWRITABLE.
 */
export async function runExplain(options: AnyProtocol<ParsedExplainOptions>, terminal: Terminal): Promise<number> {
  checkSources(options);
  const scaling = await readScalingQuestion(options);
  await prepareExplanation(options);
  const reached = options.from === undefined ? await withProtocol<ParsedExplainOptions>(options) : offline(options);
  warnIfInsecure(reached, terminal);
  const { tell } = terminal;
  const written: string[] = [];
  const { signal, check, release } = listenForInterrupts(
    tell,
    () => 'stopped at once; nothing was changed',
    'what was seen so far is explained',
  );
  const quit = new AbortController();
  const page = options.ui === 'tui' ? await openPage(reached, terminal, () => quit.abort()) : null;
  const onReading = (readings: readonly unknown[], seconds: number): void =>
    terminal.status(`looking for ${formatDuration(seconds)}: ${readings.length} readings`);
  const watch = { signal: AbortSignal.any([signal, quit.signal]), onReading, tell, ...page?.watch };
  try {
    const { for: seconds = page ? Number.POSITIVE_INFINITY : undefined } = reached;
    const timed = seconds === undefined ? reached : { ...reached, for: seconds };
    const seen = await explain(timed, watch).finally(() => page?.close());
    terminal.status(null);
    const show = async (explanation: ServiceExplanation): Promise<void> => {
      for (const line of explainLines(explanation)) terminal.print(line);
      written.push(...(await writeExplanation(explanation, options)));
    };
    const complete = await withAutoscalers(seen, scaling).catch(async (error: unknown) => {
      await show(seen);
      throw error;
    });
    await show(complete);
  } finally {
    terminal.status(null);
    release();
  }
  check();
  for (const file of [...written, ...(options.emit ?? []).map((each) => each.file)]) tell(`wrote ${file}`);
  return exitCodes.done;
}

/** Errors: USAGE without a terminal. */
function openPage(options: ParsedExplainOptions, { canvas }: Terminal, onQuit: () => void): Promise<LivePage> {
  if (!canvas) throw new TrituneError('USAGE', 'the full screen needs a terminal', 'leave out --ui tui');
  return openLivePage(canvas, toLimit(options), options.url ?? '', onQuit);
}

/** Errors: USAGE for options of which one has no use beside the other. */
function checkSources({
  from,
  url,
  save,
  prometheus,
  since,
  prometheusLabels,
  for: seconds,
  ui,
}: AnyProtocol<ParsedExplainOptions>): void {
  const useless: readonly (readonly [text: string, isUseless: boolean])[] = [
    ['--from reads a directory, so --url has no use', from !== undefined && url !== undefined],
    ['--from reads a directory, so --save has no use', from !== undefined && save !== undefined],
    ['--from reads a directory, so --prometheus has no use', from !== undefined && prometheus !== undefined],
    ['--ui tui looks at a server, so --from has no use', ui === 'tui' && from !== undefined],
    ['--ui tui looks at a server, so --prometheus has no use', ui === 'tui' && prometheus !== undefined],
    ['--prometheus reads the past, so --for has no use', prometheus !== undefined && seconds !== undefined],
    ['--since has no use without --prometheus', prometheus === undefined && since !== undefined],
    ['--prometheus-labels has no use without --prometheus', prometheus === undefined && prometheusLabels !== undefined],
  ];
  const fault = useless.find(([, isUseless]) => isUseless);
  if (fault) throw new TrituneError('USAGE', fault[0], 'leave one of them out');
}

/** Nothing is contacted. */
const offline = (options: AnyProtocol<ParsedExplainOptions>): ParsedExplainOptions => ({
  protocol: 'grpc',
  ...options,
});
