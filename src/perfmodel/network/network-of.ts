import { NS_PER_MS } from '#base/units.ts';
import type { LoadLevel } from '#loadgen/types.ts';
import type { Device, Front, Network, Stage } from '#queueing/network/types.ts';
import { affineLaw, type ServiceLaw } from '#queueing/service-law.ts';
import type { Traffic } from '#queueing/traffic.ts';
import { frontLevels, type Topology } from '#space/topology.ts';
import { USUAL_PER_SAMPLE } from '../affine-line.ts';
import type { Choice } from '../modelled-config.ts';
import { toDevice } from './device-sharing.ts';
import type { FittedNetwork } from './fit-network.ts';
import { networkCalls } from './observed-calls.ts';

/** The parameters of a network's simulation besides the stages' statistics. */
export interface NetworkParameters {
  /**
   * Time of a request outside the stages: client, network, the server's front, and the overhead of
   * an ensemble's steps.
   */
  readonly roundTripNs: ReadonlyMap<string, number>;
  /** Coefficient of variation of execution times. */
  readonly cv: number;
  /** A single execution of a stage without statistics, in nanoseconds. */
  readonly unknownNs: number;
}

/** A law without any measurement: most of it fixed. */
const usualLaw = (ns: number): ServiceLaw => ({
  ...affineLaw(ns * (1 - USUAL_PER_SAMPLE), ns * USUAL_PER_SAMPLE),
  interference: { perInstance: 0.1, batchExponent: 0 },
});

/** The assumed time of a single execution before any measurement. */
export const USUAL_NS = 10 * NS_PER_MS;

/** Returns the law of a stage's executions, without other stages and its calls. */
export const stageLaw = (
  { laws }: FittedNetwork,
  stage: string,
  choice: Choice,
  { unknownNs }: Pick<NetworkParameters, 'unknownNs'>,
): ServiceLaw => laws.get(stage)?.of(choice) ?? usualLaw(unknownNs);

/** Returns the stages and devices of a joint choice, without traffic. */
export function toStages(
  fitted: FittedNetwork,
  choice: Choice,
  surroundings: Pick<NetworkParameters, 'cv' | 'unknownNs'>,
): Pick<Network, 'stages' | 'devices'> {
  const devices = new Map<string, Device>();
  const stages = fitted.topology.stages.map((name): Stage => {
    const ownChoice = choice.members?.get(name) ?? choice;
    const { name: device } = toDevice(ownChoice);
    const sharing = fitted.sharing.get(device)?.likeliest;
    const share = sharing?.shares.get(name);
    const isShared = sharing !== undefined && share !== undefined && sharing.interference > 0;
    if (isShared) devices.set(device, { name: device, interference: sharing.interference });
    const caller = fitted.calls.get(name);
    return {
      name,
      policy: ownChoice.policy,
      law: { ...stageLaw(fitted, name, ownChoice, surroundings), cv: surroundings.cv },
      ...(isShared && { device: { name: device, share } }),
      ...(caller && { calls: networkCalls(caller) }),
    };
  });
  return { stages, devices: [...devices.values()] };
}

/** Returns the fronts at a level, each with its share of it. */
export function frontsAt(
  topology: Topology,
  level: Pick<LoadLevel, 'mode' | 'value'>,
  countSamples: (front: string) => number,
  roundTripNs: ReadonlyMap<string, number>,
): Front[] {
  const levels = frontLevels(topology, level);
  return topology.fronts.map(({ model, steps }, index): Front => {
    const { mode, value } = levels[index] as Pick<LoadLevel, 'mode' | 'value'>;
    const common = { roundTripNs: roundTripNs.get(model) ?? 0, samplesPerRequest: countSamples(model) };
    const traffic: Traffic =
      mode === 'concurrency'
        ? { kind: 'closed', concurrency: value, ...common }
        : { kind: 'rate', perSecond: value, distribution: 'constant', ...common };
    return { name: model, steps, traffic };
  });
}
