import type { SimulationOptions } from '../simulate.ts';
import { simulateNetwork } from './simulate-network.ts';
import type { Network, NetworkSimulation } from './types.ts';

/** What one more instance of a stage would do. */
export interface InstanceEffect {
  readonly stage: string;
  /** How busy its instances are now, 0 to 1. */
  readonly utilization: number;
  /**
   * Mean latency now / with one more, as the geometric mean over the fronts; above 1 it helps. In a closed loop without pauses that is the ratio of
   * the throughputs as well.
   */
  readonly gain: number;
  /** Figures with one more. */
  readonly simulation: NetworkSimulation;
}

/** What holds a network back: a stage that needs instances, a device that has no more to give, or nothing but the traffic. */
export type Bottleneck =
  | { readonly kind: 'stage'; readonly name: string }
  | { readonly kind: 'device'; readonly name: string }
  | { readonly kind: 'none' };

/** A gain that a simulation of another few requests may as well have. */
const LEAST_GAIN = 1.02;
/** Devices that are used so much have no more to give. */
const FULL = 0.9;

/** Returns what one more instance of each stage would do, each by another simulation, the largest gain first. Errors: as `simulateNetwork`. */
export function oneMoreInstance(network: Network, options: SimulationOptions): readonly InstanceEffect[] {
  const now = simulateNetwork(network, options);
  const effects = network.stages.map(({ name }, place): InstanceEffect => {
    const simulation = simulateNetwork(withOneMore(network, name), options);
    const utilization = now.stages[place]?.utilization as number;
    return { stage: name, utilization, gain: gainOf(now, simulation), simulation };
  });
  return effects.sort((a, b) => b.gain - a.gain);
}

/** Returns what holds the network back, by its figures and what one more instance would do. */
export function bottleneckOf({ devices }: NetworkSimulation, effects: readonly InstanceEffect[]): Bottleneck {
  const [best] = effects.toSorted((a, b) => b.gain - a.gain);
  if (best && best.gain >= LEAST_GAIN) return { kind: 'stage', name: best.stage };
  const [fullest] = devices.toSorted((a, b) => b.utilization - a.utilization);
  return fullest && fullest.utilization >= FULL ? { kind: 'device', name: fullest.name } : { kind: 'none' };
}

/** One more instance helps only where it may execute: what a law lets run at once stays. */
function withOneMore(network: Network, name: string): Network {
  const stages = network.stages.map((stage) =>
    stage.name === name ? { ...stage, policy: { ...stage.policy, instances: stage.policy.instances + 1 } } : stage,
  );
  return { ...network, stages };
}

function gainOf(now: NetworkSimulation, other: NetworkSimulation): number {
  const logs = now.fronts.map(({ latencyNs }, place) =>
    Math.log(latencyNs.mean / (other.fronts[place]?.latencyNs.mean as number)),
  );
  return Math.exp(logs.reduce((sum, each) => sum + each, 0) / logs.length);
}
