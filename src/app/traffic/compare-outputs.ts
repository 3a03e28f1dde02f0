import { withDeadline } from '#base/abort.ts';
import { TrituneError } from '#base/errors.ts';
import { formatDuration } from '#base/format.ts';
import { MS_PER_S } from '#base/units.ts';
import { type Accuracy, compareOutputs, type Tolerance } from '#loadgen/accuracy.ts';
import type { PreparedInputs } from '#loadgen/inputs.ts';
import type { InferRequest, ReplyCheck } from '#loadgen/types.ts';
import { takesSequences } from '#triton/config/batching-rules.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { CandidateRefusedError } from '#tuner/refused.ts';
import type { OpenServer } from '../server/open-server.ts';
import { type AccuracyCommand, collectOutputs, runAccuracyCommand } from './accuracy-command.ts';
import { sendOne } from './first-requests.ts';
import { openLocalTraffic, type SeededTraffic } from './open-traffic.ts';

/** One request in flight. */
const alone = { mode: 'concurrency', low: 1, high: 1 } as const;

/**
 * True if outputs can be compared with expected ones before a measurement: there are some, and they
 * depend on no other request. Those of sequences are checked during the measurement.
 */
export const expectsOutputs = ({ requests }: PreparedInputs, config: ModelConfig): boolean =>
  !takesSequences(config) && requests.some(({ expected }) => expected);

interface ComparedRequests {
  readonly spec: SeededTraffic;
  readonly inputs: PreparedInputs;
  readonly config: ModelConfig;
}

interface Comparison {
  readonly tolerance: Tolerance;
  /** What the user's command makes of all outputs; null without one. */
  readonly command: AccuracyCommand | null;
  /** The run's directory, for what the command reads and prints. */
  readonly directory: string;
  /** Longest time for a reply. */
  readonly timeoutMs: number;
}

const unanswered = (timeoutMs: number): TrituneError =>
  new TrituneError(
    'SERVER_TIMEOUT',
    `the model did not answer a request with expected outputs within ${formatDuration(timeoutMs / MS_PER_S)}`,
    'read the log of the server; if it builds an engine, allow more with --first-request-timeout',
  );

/**
 * Sends every request with expected outputs once, one after another, and compares the replies; with
 * a command every request, whose outputs the command then reads. The model may build its engine for
 * the first of them, so `timeoutMs` is long. Errors: SERVER_FAILED for a request that fails;
 * SERVER_TIMEOUT; a CandidateRefusedError for a reply of another form; USAGE for a command that
 * fails; those of `openLocalTraffic`; INTERRUPTED.
 */
export async function compareReplies(
  opened: OpenServer,
  { spec, inputs, config }: ComparedRequests,
  { tolerance, command, directory, timeoutMs }: Comparison,
  signal: AbortSignal,
): Promise<Accuracy> {
  const comparison = compareOutputs(tolerance);
  const lines = command && collectOutputs();
  let index = 0;
  const check: ReplyCheck = (request, replies) => {
    for (const outputs of replies) lines?.add(index, outputs);
    return comparison.check(request, replies);
  };
  const traffic = await openLocalTraffic(opened, { spec, config, inputs, levels: alone, timeoutMs, check });
  try {
    const { requests } = traffic.requestsFor(config);
    for (; index < requests.length; index++) {
      const request = requests[index] as InferRequest;
      if (!request.expected && !command) continue;
      const sent = sendOne(traffic.transport, traffic.transport.prepare(request));
      const outcome = await withDeadline(sent, timeoutMs, () => unanswered(timeoutMs), signal);
      if (!outcome.ok && outcome.kind === 'mismatch') throw new CandidateRefusedError('inaccurate', outcome.message);
      if (!outcome.ok) throw new TrituneError('SERVER_FAILED', outcome.message, 'check the expected outputs');
    }
  } finally {
    await traffic.close();
  }
  const metric = command && lines ? await runAccuracyCommand(command, lines, directory, signal) : undefined;
  return { ...comparison.read(), ...(metric && { metric }) };
}
