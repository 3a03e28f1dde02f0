import type { SimulationOptions } from '../simulate.ts';
import { simulateNetwork } from './simulate-network.ts';
import type { Network, NetworkSimulation } from './types.ts';

/** The effect of one more instance of a stage. */
export interface InstanceEffect {
  readonly stage: string;
  /** Utilisation of its instances now, 0 to 1. */
  readonly utilization: number;
  /**
   * Ratio of the mean latency now to that with one more, as the geometric mean over the fronts;
   * above 1 it helps. In a closed loop without pauses it is also the ratio of the throughputs.
   */
  readonly gain: number;
  /** Figures with one more. */
  readonly simulation: NetworkSimulation;
}

/**
 * The bottleneck of a network: a stage that needs instances, a device that is used up, or only the
 * traffic.
 */
export type NetworkBottleneck =
  | { readonly kind: 'stage'; readonly name: string }
  | { readonly kind: 'device'; readonly name: string }
  | { readonly kind: 'none' };

/** The least gain that counts; a simulation of other requests may show a smaller one by chance. */
const MIN_GAIN = 1.02;
/** The utilisation from which on a device is used up. */
const FULL = 0.9;

/**
 * Returns the effect of one more instance of each stage, each by another simulation, the largest
 * gain first. Errors: as `simulateNetwork`.
 */
export function oneMoreInstance(network: Network, options: SimulationOptions): readonly InstanceEffect[] {
  const now = simulateNetwork(network, options);
  const effects = network.stages.map(({ name }, place): InstanceEffect => {
    const simulation = simulateNetwork(withOneMore(network, name), options);
    const utilization = now.stages[place]?.utilization as number;
    return { stage: name, utilization, gain: computeGain(now, simulation), simulation };
  });
  return effects.sort((a, b) => b.gain - a.gain);
}

/** Returns the bottleneck of the network, by its figures and the effects of one more instance. */
export function findBottleneck({ devices }: NetworkSimulation, effects: readonly InstanceEffect[]): NetworkBottleneck {
  const [best] = effects.toSorted((a, b) => b.gain - a.gain);
  if (best && best.gain >= MIN_GAIN) return { kind: 'stage', name: best.stage };
  const [fullest] = devices.toSorted((a, b) => b.utilization - a.utilization);
  return fullest && fullest.utilization >= FULL ? { kind: 'device', name: fullest.name } : { kind: 'none' };
}

/** One more instance helps only if it may execute: a law's limit on concurrent executions stays. */
function withOneMore(network: Network, name: string): Network {
  const stages = network.stages.map((stage) =>
    stage.name === name ? { ...stage, policy: { ...stage.policy, instances: stage.policy.instances + 1 } } : stage,
  );
  return { ...network, stages };
}

function computeGain(now: NetworkSimulation, other: NetworkSimulation): number {
  const logs = now.fronts.map(({ latencyNs }, place) =>
    Math.log(latencyNs.mean / (other.fronts[place]?.latencyNs.mean as number)),
  );
  return Math.exp(logs.reduce((sum, each) => sum + each, 0) / logs.length);
}
