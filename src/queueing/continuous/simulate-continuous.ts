import { TrituneError } from '#base/errors.ts';
import { seededRandom } from '#base/random.ts';
import { createSpread } from '../service-law.ts';
import type { SimulationOptions } from '../simulate.ts';
import { ArrivalStream, checkTraffic, type Traffic } from '../traffic.ts';
import { ContinuousBatcher } from './continuous-batcher.ts';
import { createSequences, type SequenceLengths } from './lengths.ts';
import type { ContinuousPolicy } from './policy.ts';
import type { Sequence } from './sequence.ts';
import { checkStepLaw, isStepLaw, type StepLaw, type StepTimes } from './step-law.ts';
import { SimulatedTokenTally, type TokenSimulation } from './token-tally.ts';

/**
 * The most steps of a simulation: an engine whose sequences only displace each other would never
 * end.
 */
const MAX_STEPS = 2_000_000;

/**
 * Simulates an engine with the policy and the law of its steps under the traffic, in virtual time.
 * Stretches in which sequences only decode are taken at once. The same arguments give the same
 * figures, everywhere. Throws INPUT_INVALID for impossible ones, and if the KV cache has no place
 * for a sequence.
 */
export function simulateContinuous(
  policy: ContinuousPolicy,
  law: StepLaw | StepTimes,
  traffic: Traffic,
  lengths: SequenceLengths,
  { warmUpRequests, requests, seed }: SimulationOptions,
): TokenSimulation {
  if (isStepLaw(law)) checkStepLaw(law);
  checkTraffic(traffic);
  const random = seededRandom(seed);
  const spread = createSpread(law.cv, random);
  const batcher = new ContinuousBatcher(policy, law, spread);
  const arrivals = new ArrivalStream(traffic, Number.POSITIVE_INFINITY, random);
  // Lengths have their own random sequence, so that every policy gets the same requests.
  const draw = createSequences(lengths, seededRandom(seed + 1));
  const sequences: Sequence[] = [];
  const known = { sentNs: (id: number) => arrivals.sentNs(id), sequence: (id: number) => sequences[id] as Sequence };
  const roundTripNs = traffic.roundTripNs ?? 0;
  const tally = new SimulatedTokenTally(law, known, { warmUpRequests, requests, roundTripNs, spread });
  let nowNs = 0;
  for (let left = MAX_STEPS; !tally.isFull; left--) {
    if (left === 0) throw endless();
    while (arrivals.nextNs <= nowNs) {
      arrivals.take();
      const sequence = draw();
      sequences.push(sequence);
      batcher.enqueue(sequence);
    }
    const stretch = batcher.decodeStretch(arrivals.nextNs - nowNs);
    if (stretch) {
      nowNs = tally.stretch(stretch, nowNs, batcher);
      continue;
    }
    const step = batcher.step(nowNs);
    if (!step && arrivals.nextNs === Number.POSITIVE_INFINITY) break;
    nowNs = step ? step.endNs : arrivals.nextNs;
    if (!step) continue;
    tally.step(step, batcher);
    for (const _ of step.finished) arrivals.answered(nowNs);
  }
  return tally.summary();
}

const endless = (): TrituneError =>
  new TrituneError(
    'INPUT_INVALID',
    `the simulation did not end within ${MAX_STEPS} steps`,
    'give a larger KV cache, shorter sequences or fewer requests',
  );
