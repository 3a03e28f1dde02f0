import type { Attempt } from '#study/analysis/memory-attempts.ts';
import { type Footprint, footprintMib, measuredFootprint } from '#study/analysis/memory-footprint.ts';

/** What a server loads and refuses, in the fields of a profile. */
export interface ServerLimits {
  readonly memory: Footprint;
  /** The device's memory; null when unknown. */
  readonly memoryMib: number | null;
  readonly maxInstances: number | null;
  /** Trials whose refusal is explained by memory or instances. */
  readonly explained: ReadonlySet<number>;
  /** Refusals that the twin does not reproduce, in words. */
  readonly unexplained: readonly string[];
}

/**
 * Hypotheses of the memory where none was measured: MiB per instance, and per sample of its batch.
 */
const SHAPES: readonly Footprint[] = [0, 0.01, 0.03, 0.1, 0.3, 1, 3, 10].map((sample) => ({
  model_mib: 0,
  instance_mib: 1,
  sample_mib: sample,
}));

/**
 * Returns memory and limits: a memory that everything loaded fits into and nothing that ran out of
 * it does, and the number of instances that were refused for another reason. Other refusals become
 * arms for settings that never loaded.
 */
export function readLimits(attempts: readonly Attempt[]): ServerLimits {
  const loaded = attempts.filter(({ isLoaded }) => isLoaded);
  const refused = attempts.filter(({ refusal }) => refusal !== null);
  const tooLarge = refused.filter(({ refusal }) => refusal?.kind === 'out-of-memory');
  const measured = measuredFootprint(attempts);
  const fitting = [...(measured ? [measured] : []), ...SHAPES]
    .map((memory) => ({ memory, bounds: computeBounds(memory, loaded, tooLarge) }))
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
      .filter(
        ({ trial, settingsKey }) => !explained.has(trial) && loaded.some((other) => other.settingsKey === settingsKey),
      )
      .map(({ trial, refusal }) => `the refusal of trial ${trial} (${refusal?.kind})`),
  };
}

/**
 * Returns the error message with which settings are refused whatever their instances and batch
 * size: they never loaded, and nothing else explains it; else null.
 */
export function refusingArm(attempts: readonly Attempt[], { explained }: ServerLimits): string | null {
  if (attempts.some(({ isLoaded }) => isLoaded)) return null;
  const refused = attempts.find(({ refusal, trial }) => refusal !== null && !explained.has(trial));
  return refused?.refusal ? ownWords(refused.refusal.reason) : null;
}

/** Returns the largest memory that was loaded and the smallest that was refused. */
function computeBounds(memory: Footprint, loaded: readonly Attempt[], tooLarge: readonly Attempt[]) {
  const sizes = (attempts: readonly Attempt[]): number[] => attempts.map((attempt) => footprintMib(memory, attempt));
  return { below: Math.max(0, ...sizes(loaded)), above: Math.min(Number.POSITIVE_INFINITY, ...sizes(tooLarge)) };
}

function mostInstances(loaded: readonly Attempt[], refused: readonly Attempt[]): number | null {
  const most = Math.max(0, ...loaded.map(({ instances }) => instances));
  const failed = refused.filter(({ refusal, instances }) => refusal?.kind === 'init-failed' && instances > most);
  return failed.length === 0 ? null : Math.min(...failed.map(({ instances }) => instances)) - 1;
}

/** Strips the words that Triton adds to a backend's message; the emulator adds them itself. */
const ownWords = (reason: string): string =>
  /is at \w+ state: (?:Internal: |Invalid argument: )?([\s\S]*?);?\s*$/.exec(reason)?.[1] || reason;
