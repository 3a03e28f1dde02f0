import { median } from 'simple-statistics';
import { TrituneError } from '#base/errors.ts';
import { NS_PER_MS } from '#base/units.ts';
import { type BatcherPolicy, checkPolicy } from '../batcher-policy.ts';
import { type FitQuality, fitQuality } from './fit-quality.ts';
import { computeLoss, computeMisses } from './loss.ts';
import { type CalibratedServer, calibratedLaw, computeWindowNs, predictRow, type Unknowns } from './model.ts';
import { aloneRows, type CalibrationRow, computeMs, isOneAtATime } from './row.ts';
import { type Estimates, searchUnknowns, usualUnknowns } from './search.ts';

/** A server fitted to the rows of a result table. */
export type Calibration = {
  readonly server: CalibratedServer;
  /** null without rows of traffic; then the usual values hold. */
  readonly estimates: Estimates | null;
  /** How well the fit explains its rows of traffic; null without any. */
  readonly quality: FitQuality | null;
  /** Numbers of lone batch sizes and of rows of traffic that it was fitted to. */
  readonly sizesAlone: number;
  readonly rowsOfTraffic: number;
};

/**
 * The share of a lone request's measured round trip that is assumed to vary; the rest is constant.
 */
const JITTER_SHARE = 0.5;

/**
 * Fits a server to rows of a result table. Lone executions are as timed. The likelihood of
 * throughput, p50 and the server's own means, with the batcher simulated, gives the number of
 * concurrent executions, steps between the timed batch sizes, interference, and front end. Little's
 * law gives the client's windows. Deterministic. Throws INPUT_INVALID when no row has the time of
 * an execution, CONFIG_INVALID for a policy that Triton would refuse.
 */
export function calibrate(rows: readonly CalibrationRow[], policy: BatcherPolicy): Calibration {
  checkPolicy(policy);
  const alone = aloneRows(rows, Math.max(1, policy.maxBatchSize));
  if (alone.length === 0) {
    throw new TrituneError(
      'INPUT_INVALID',
      'no row tells the time of an execution that runs alone',
      'give a table with server statistics and a row of concurrency 1, or of known mean batch with few requests in flight',
    );
  }
  const traffic = rows.filter((row) => !isOneAtATime(row));
  const wayNs = median(alone.map((row) => row.outsideMs)) * NS_PER_MS;
  const windowNs = computeWindowNs(traffic);
  const split = computeSplit(rows);
  const toServer = (unknowns: Unknowns): CalibratedServer => ({
    policy,
    law: calibratedLaw(alone, policy.maxBatchSize, unknowns, split),
    roundTripNs: wayNs * (1 - JITTER_SHARE),
    jitterNs: wayNs * JITTER_SHARE,
    windowNs,
  });
  const counts = { sizesAlone: alone.length, rowsOfTraffic: traffic.length };
  if (traffic.length === 0) {
    return { server: toServer(usualUnknowns(alone, policy.instances)), estimates: null, quality: null, ...counts };
  }
  const compare = (server: CalibratedServer, row: CalibrationRow) =>
    predictRow(server, row.concurrency, row.samplesPerRequest);
  const estimates = searchUnknowns(alone, policy, (unknowns) => {
    const server = toServer(unknowns);
    return traffic.reduce((sum, row) => sum + computeLoss(compare(server, row), row), 0);
  });
  const server = toServer(toValues(estimates));
  const misses = traffic.map((row) => computeMisses(compare(server, row), row));
  return {
    server,
    estimates,
    quality: fitQuality(misses.flatMap(({ throughput, p50 }) => [throughput, p50])),
    ...counts,
  };
}

function toValues(estimates: Estimates): Unknowns {
  return {
    atOnce: estimates.atOnce.value,
    stepShare: estimates.stepShare.value,
    perInstance: estimates.perInstance.value,
    perSampleShare: estimates.perSampleShare.value,
    frontEndMs: estimates.frontEndMs.value,
    scale: estimates.scale.value,
  };
}

function computeSplit(rows: readonly CalibrationRow[]): { readonly input: number; readonly output: number } {
  const servers = rows.flatMap(({ server }) => (server && computeMs(server) > 0 ? [server] : []));
  if (servers.length === 0) return { input: 0, output: 0 };
  return {
    input: median(servers.map((server) => server.inputMs / computeMs(server))),
    output: median(servers.map((server) => server.outputMs / computeMs(server))),
  };
}
