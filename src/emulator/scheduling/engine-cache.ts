import { msToNs } from '#base/units.ts';
import type { EmulatedModelSimulator } from './model-simulator.ts';

type Engines = Pick<EmulatedModelSimulator, 'firstExecutionMs' | 'keptEngine'>;

/**
 * The engines that the emulated server's machine keeps, each known by its directory and what it was
 * built for. As in ONNX Runtime an engine is there for others when it is built, not before. Unlike
 * there, one serves every batch size.
 */
export class EngineCache {
  readonly #builtAtNs = new Map<string, number>();

  /**
   * Returns what the first execution of an instance takes beside its own time, at `nowNs`; it reads
   * the engine if it is kept, and builds and keeps it otherwise.
   */
  firstExecutionMs({ firstExecutionMs, keptEngine }: Engines, nowNs: number): number {
    if (!keptEngine) return firstExecutionMs;
    const builtAtNs = this.#builtAtNs.get(keptEngine.key) ?? Number.POSITIVE_INFINITY;
    if (builtAtNs <= nowNs) return keptEngine.readMs;
    this.#builtAtNs.set(keptEngine.key, Math.min(builtAtNs, nowNs + msToNs(firstExecutionMs)));
    return firstExecutionMs;
  }
}
