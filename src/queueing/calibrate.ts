import { median } from 'simple-statistics';
import { TrituneError } from '../base/errors.ts';
import { NS_PER_MS } from '../base/units.ts';
import { type BatcherPolicy, checkPolicy } from './batcher-policy.ts';
import { lossOf, missesOf } from './calibration-loss.ts';
import { type CalibratedServer, calibratedLaw, foretellRow, type Unknowns, windowNsOf } from './calibration-model.ts';
import { aloneRows, type CalibrationRow, computeMs, isOneAtATime } from './calibration-row.ts';
import { type Estimates, searchUnknowns, usualUnknowns } from './calibration-search.ts';
import { type FitQuality, fitQuality } from './fit-quality.ts';

/** A server fitted to the rows of a result table. */
export type Calibration = {
  readonly server: CalibratedServer;
  /** null when no row of traffic could tell: then the usual is taken to hold. */
  readonly estimates: Estimates | null;
  /** How well the rows of traffic are explained that it was fitted to; null when there were none. */
  readonly quality: FitQuality | null;
  /** Batch sizes timed alone, and rows of traffic, that it was fitted to. */
  readonly sizesAlone: number;
  readonly rowsOfTraffic: number;
};

/** Of a request's way, as measured alone, half is taken to be the same every time and half to vary. */
const JITTER_SHARE = 0.5;

/**
 * Fits a server to rows of a result table: executions alone as they were timed; by likelihood of throughput, p50 and the
 * server's own means, with the batcher simulated, how many executions run at once, steps between the timed batch sizes,
 * interference, front end; by Little's law the windows of the client. Deterministic.
 * Throws INPUT_INVALID when no row tells the time of an execution, CONFIG_INVALID for a policy Triton would refuse.
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
  const windowNs = windowNsOf(traffic);
  const split = splitOf(rows);
  const serverOf = (unknowns: Unknowns): CalibratedServer => ({
    policy,
    law: calibratedLaw(alone, policy.maxBatchSize, unknowns, split),
    roundTripNs: wayNs * (1 - JITTER_SHARE),
    jitterNs: wayNs * JITTER_SHARE,
    windowNs,
  });
  const counts = { sizesAlone: alone.length, rowsOfTraffic: traffic.length };
  if (traffic.length === 0) {
    return { server: serverOf(usualUnknowns(alone, policy.instances)), estimates: null, quality: null, ...counts };
  }
  const told = (server: CalibratedServer, row: CalibrationRow) =>
    foretellRow(server, row.concurrency, row.samplesPerRequest);
  const estimates = searchUnknowns(alone, policy, (unknowns) => {
    const server = serverOf(unknowns);
    return traffic.reduce((sum, row) => sum + lossOf(told(server, row), row), 0);
  });
  const server = serverOf(valuesOf(estimates));
  const misses = traffic.map((row) => missesOf(told(server, row), row));
  return {
    server,
    estimates,
    quality: fitQuality(misses.flatMap(({ throughput, p50 }) => [throughput, p50])),
    ...counts,
  };
}

function valuesOf(estimates: Estimates): Unknowns {
  return {
    atOnce: estimates.atOnce.value,
    stepShare: estimates.stepShare.value,
    perInstance: estimates.perInstance.value,
    perSampleShare: estimates.perSampleShare.value,
    frontEndMs: estimates.frontEndMs.value,
    scale: estimates.scale.value,
  };
}

function splitOf(rows: readonly CalibrationRow[]): { readonly input: number; readonly output: number } {
  const servers = rows.flatMap(({ server }) => (server && computeMs(server) > 0 ? [server] : []));
  if (servers.length === 0) return { input: 0, output: 0 };
  return {
    input: median(servers.map((server) => server.inputMs / computeMs(server))),
    output: median(servers.map((server) => server.outputMs / computeMs(server))),
  };
}
