import { TrituneError } from '../../../base/errors.ts';
import { type Accuracy, compareOutputs, type Tolerance } from '../../../loadgen/accuracy.ts';
import type { PreparedInputs } from '../../../loadgen/inputs.ts';
import { takesSequences } from '../../../triton/config/batching-rules.ts';
import type { ModelConfig } from '../../../triton/config/model-config.ts';
import { CandidateRefusedError } from '../../../tuner/refused.ts';
import type { OpenServer } from '../../server/open-server.ts';
import { sendOne } from './first-requests.ts';
import { openLocalTraffic, type SeededTraffic } from './open-traffic.ts';

const TIMEOUT_MS = 30_000;
/** One request in flight. */
const alone = { mode: 'concurrency', low: 1, high: 1 } as const;

/**
 * True if outputs can be compared with expected ones before a measurement: there are some, and they
 * depend on no other request. Those of sequences are checked during the measurement.
 */
export const expectsOutputs = ({ requests }: PreparedInputs, config: ModelConfig): boolean =>
  !takesSequences(config) && requests.some(({ expected }) => expected);

/**
 * Sends every request with expected outputs once, one after another, and compares the replies.
 * Errors: SERVER_FAILED for a request that fails; a CandidateRefusedError for a reply of another
 * form; those of `openLocalTraffic`; the signal's reason.
 */
export async function compareReplies(
  opened: OpenServer,
  spec: SeededTraffic,
  inputs: PreparedInputs,
  config: ModelConfig,
  tolerance: Tolerance,
  signal: AbortSignal,
): Promise<Accuracy> {
  const { check, read } = compareOutputs(tolerance);
  const traffic = await openLocalTraffic(opened, { spec, config, inputs, levels: alone, timeoutMs: TIMEOUT_MS, check });
  try {
    for (const request of traffic.requestsFor(config).requests) {
      if (!request.expected) continue;
      signal.throwIfAborted();
      const outcome = await sendOne(traffic.transport, traffic.transport.prepare(request));
      if (!outcome.ok && outcome.kind === 'mismatch') throw new CandidateRefusedError('inaccurate', outcome.message);
      if (!outcome.ok) throw new TrituneError('SERVER_FAILED', outcome.message, 'check the expected outputs');
    }
    return read();
  } finally {
    await traffic.close();
  }
}
