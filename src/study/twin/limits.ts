import type { Attempt } from './attempts.ts';
import { type Footprint, footprintMib, measuredFootprint } from './footprint.ts';

/** What a server takes and what it refuses, in a profile's terms. */
export interface Limits {
  readonly memory: Footprint;
  /** Of the device; null when nothing says how much there is. */
  readonly memoryMib: number | null;
  readonly maxInstances: number | null;
  /** Trials whose refusal the memory or the instances explain. */
  readonly explained: ReadonlySet<number>;
  /** Refusals that the twin will not repeat, in words. */
  readonly unexplained: readonly string[];
}

/** Shapes of memory to try where none was measured: MiB of an instance, and of each sample that it can batch. */
const SHAPES: readonly Footprint[] = [0, 0.01, 0.03, 0.1, 0.3, 1, 3, 10].map((sample) => ({
  model_mib: 0,
  instance_mib: 1,
  sample_mib: sample,
}));

/**
 * Memory that everything loaded fits into and nothing that ran out of it does; the instances that were refused for
 * another reason. What neither explains is left to arms of variants that never loaded.
 */
export function limitsOf(attempts: readonly Attempt[]): Limits {
  const loaded = attempts.filter(({ isLoaded }) => isLoaded);
  const refused = attempts.filter(({ refusal }) => refusal !== null);
  const tooLarge = refused.filter(({ refusal }) => refusal?.kind === 'out-of-memory');
  const measured = measuredFootprint(attempts);
  const fitting = [...(measured ? [measured] : []), ...SHAPES]
    .map((memory) => ({ memory, bounds: boundsOf(memory, loaded, tooLarge) }))
    .find(({ bounds }) => bounds.above > bounds.below);
  const memory = fitting?.memory ?? measured ?? { model_mib: 0, instance_mib: 0, sample_mib: 0 };
  const isLimited = tooLarge.length > 0 && fitting !== undefined;
  const maxInstances = mostInstances(loaded, refused);
  const explained = new Set(
    refused
      .filter(({ refusal, instances }) =>
        refusal?.kind === 'out-of-memory' ? isLimited : maxInstances !== null && instances > maxInstances,
      )
      .map(({ trial }) => trial),
  );
  return {
    memory: tooLarge.length === 0 && !measured ? { model_mib: 0, instance_mib: 0, sample_mib: 0 } : memory,
    memoryMib: isLimited ? (fitting.bounds.below + fitting.bounds.above) / 2 : null,
    maxInstances,
    explained,
    unexplained: refused
      .filter(({ trial, variant }) => !explained.has(trial) && loaded.some((other) => other.variant === variant))
      .map(({ trial, refusal }) => `the refusal of trial ${trial} (${refusal?.kind})`),
  };
}

/** Why a variant is refused whatever its instances and batch size: it never loaded, and nothing else explains that. */
export function refusingArm(variant: readonly Attempt[], { explained }: Limits): string | null {
  if (variant.some(({ isLoaded }) => isLoaded)) return null;
  const refused = variant.find(({ refusal, trial }) => refusal !== null && !explained.has(trial));
  return refused?.refusal ? ownWords(refused.refusal.reason) : null;
}

/** The largest that was loaded, and the smallest that was refused. */
function boundsOf(memory: Footprint, loaded: readonly Attempt[], tooLarge: readonly Attempt[]) {
  const sizes = (attempts: readonly Attempt[]): number[] => attempts.map((attempt) => footprintMib(memory, attempt));
  return { below: Math.max(0, ...sizes(loaded)), above: Math.min(Number.POSITIVE_INFINITY, ...sizes(tooLarge)) };
}

function mostInstances(loaded: readonly Attempt[], refused: readonly Attempt[]): number | null {
  const most = Math.max(0, ...loaded.map(({ instances }) => instances));
  const failed = refused.filter(({ refusal, instances }) => refusal?.kind === 'init-failed' && instances > most);
  return failed.length === 0 ? null : Math.min(...failed.map(({ instances }) => instances)) - 1;
}

/** Without the words that a Triton puts around a backend's, which the emulator will put there itself. */
const ownWords = (reason: string): string =>
  /is at \w+ state: (?:Internal: |Invalid argument: )?([\s\S]*?);?\s*$/.exec(reason)?.[1] || reason;
