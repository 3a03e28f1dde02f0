import { ensembleMisfit } from '../../triton/config/ensemble-fit.ts';
import { composingModels } from '../../triton/config/ensemble-rules.ts';
import type { ModelConfig } from '../../triton/config/model-config.ts';
import type { ModelEntry } from './model-entry.ts';
import { NO_FILES } from './uploaded-files.ts';

/**
 * Keeps ensembles in step with their models, as Triton 2.51 does (seen there; docs/served-model.md has the facts). After each control
 * call an ensemble goes whose models are missing or do not fit it any more, comes back when they do, and is recreated, with
 * statistics from 0, while one of its models has been loaded with a config since the ensemble's own last load.
 */
export class EnsembleUpkeep {
  readonly #entries: ReadonlyMap<string, ModelEntry>;
  /** Went away with one of their models, and come back with it: the configs that they were served with. */
  readonly #away = new Map<string, ModelConfig>();
  /** One of their models was loaded with a config after them. */
  readonly #stale = new Set<string>();

  constructor(entries: ReadonlyMap<string, ModelEntry>) {
    this.#entries = entries;
  }

  /** A model, or an ensemble, is about to be unloaded: the ensembles over it go too. */
  leaves(model: string): void {
    for (const entry of this.#over(model)) this.#sendAway(entry);
  }

  /** A load with a config has reached the model, whether it succeeds or not. */
  overridden(model: string): void {
    for (const { name } of this.#over(model)) this.#stale.add(name);
  }

  /** An ensemble was loaded by its own name: nothing is left to do for it, nor for the ensembles in it. */
  loaded(ensemble: string): void {
    this.unloaded(ensemble);
    this.#stale.delete(ensemble);
    for (const part of this.#partsOf(ensemble)) this.loaded(part);
  }

  /** An ensemble was unloaded by its own name: it does not come back by itself. */
  unloaded(ensemble: string): void {
    this.#away.delete(ensemble);
  }

  /** Returns whether an ensemble with this config would contain itself. */
  isCircular({ name }: ModelEntry, config: ModelConfig): boolean {
    return composingModels(config).some((part) => part === name || this.#contains(part, name));
  }

  /** Returns why the ensemble cannot be served over its models' present configs, or null. */
  misfit(entry: ModelEntry, config: ModelConfig = this.#configOf(entry)): string | null {
    return ensembleMisfit(config, (part) => this.#entries.get(part)?.serving?.config);
  }

  /** What follows from a control call, for inner ensembles before those over them. */
  async settle(): Promise<void> {
    for (const entry of this.#innerFirst()) {
      const isWhole = this.#partsOf(entry.name).every((part) => this.#entries.get(part)?.serving);
      const fits = isWhole && this.misfit(entry) === null;
      if (entry.serving && !fits) this.#sendAway(entry);
      else if (entry.serving && this.#stale.has(entry.name)) entry.renew();
      else if (this.#away.has(entry.name) && fits) {
        const config = this.#configOf(entry);
        this.#away.delete(entry.name);
        // Nobody asked for it: when it cannot be loaded it stays away, and its index entry says why.
        await entry.load({ config, files: NO_FILES, version: entry.version }).catch(() => undefined);
      }
    }
  }

  #sendAway(entry: ModelEntry): void {
    if (!entry.serving) return;
    this.#away.set(entry.name, entry.serving.config);
    entry.unload();
  }

  /** What serves, or what would. */
  #configOf(entry: ModelEntry): ModelConfig {
    return entry.serving?.config ?? this.#away.get(entry.name) ?? entry.stored;
  }

  #partsOf(name: string): readonly string[] {
    const entry = this.#entries.get(name);
    return entry ? composingModels(this.#configOf(entry)) : [];
  }

  #contains(ensemble: string, model: string): boolean {
    return this.#partsOf(ensemble).some((part) => part === model || this.#contains(part, model));
  }

  #over(model: string): ModelEntry[] {
    return [...this.#entries.values()].filter(({ name }) => this.#contains(name, model));
  }

  #innerFirst(): ModelEntry[] {
    const ensembles = [...this.#entries.values()].filter(({ name }) => this.#partsOf(name).length > 0);
    const depth = (name: string): number => Math.max(0, ...this.#partsOf(name).map((part) => 1 + depth(part)));
    return ensembles.sort((a, b) => depth(a.name) - depth(b.name));
  }
}
