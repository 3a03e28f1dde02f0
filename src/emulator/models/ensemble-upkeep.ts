import { ensembleMisfit } from '#triton/config/ensemble-fit.ts';
import { composingModels } from '#triton/config/ensemble-rules.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import type { ModelEntry } from './model-entry.ts';
import { NO_FILES } from './uploaded-files.ts';

/**
 * Keeps ensembles in step with their models, as Triton 2.51 does (seen there; docs/served-model.md
 * has the facts). After each control call, an ensemble whose models are missing or no longer fit is
 * removed, and comes back when they fit again. It is recreated, with statistics from 0, while one
 * of its models has been loaded with a config since the ensemble's own last load.
 */
export class EnsembleUpkeep {
  readonly #entries: ReadonlyMap<string, ModelEntry>;
  /**
   * Ensembles that went away with one of their models and come back with it: the configs that they
   * were served with.
   */
  readonly #away = new Map<string, ModelConfig>();
  /** Ensembles with a model that was loaded with a config after them. */
  readonly #stale = new Set<string>();

  constructor(entries: ReadonlyMap<string, ModelEntry>) {
    this.#entries = entries;
  }

  /** Called before a model or an ensemble is unloaded: also removes the ensembles that use it. */
  leaves(model: string): void {
    for (const entry of this.#over(model)) this.#sendAway(entry);
  }

  /** Called when a load with a config has reached the model, whether it succeeds or not. */
  overridden(model: string): void {
    for (const { name } of this.#over(model)) this.#stale.add(name);
  }

  /**
   * Called when an ensemble was loaded by name: neither it nor its inner ensembles need anything
   * else.
   */
  loaded(ensemble: string): void {
    this.unloaded(ensemble);
    this.#stale.delete(ensemble);
    for (const part of this.#listParts(ensemble)) this.loaded(part);
  }

  /** Called when an ensemble was unloaded by name: it does not come back on its own. */
  unloaded(ensemble: string): void {
    this.#away.delete(ensemble);
  }

  /** True if an ensemble with this config would contain itself. */
  isCircular({ name }: ModelEntry, config: ModelConfig): boolean {
    return composingModels(config).some((part) => part === name || this.#contains(part, name));
  }

  /** Returns why the ensemble cannot be served with its models' current configs; null if it can. */
  misfit(entry: ModelEntry, config: ModelConfig = this.#readConfig(entry)): string | null {
    return ensembleMisfit(config, (part) => this.#entries.get(part)?.serving?.config);
  }

  /** Applies the consequences of a control call, to inner ensembles before outer ones. */
  async settle(): Promise<void> {
    for (const entry of this.#innerFirst()) {
      const isWhole = this.#listParts(entry.name).every((part) => this.#entries.get(part)?.serving);
      const fits = isWhole && this.misfit(entry) === null;
      if (entry.serving && !fits) this.#sendAway(entry);
      else if (entry.serving && this.#stale.has(entry.name)) entry.renew();
      else if (this.#away.has(entry.name) && fits) {
        const config = this.#readConfig(entry);
        this.#away.delete(entry.name);
        // No client asked for it: if it cannot be loaded it stays away, and its index entry says
        // why.
        await entry.load({ config, files: NO_FILES, version: entry.version }).catch(() => undefined);
      }
    }
  }

  #sendAway(entry: ModelEntry): void {
    if (!entry.serving) return;
    this.#away.set(entry.name, entry.serving.config);
    entry.unload();
  }

  /** Returns the config that is served, or would be. */
  #readConfig(entry: ModelEntry): ModelConfig {
    return entry.serving?.config ?? this.#away.get(entry.name) ?? entry.stored;
  }

  #listParts(name: string): readonly string[] {
    const entry = this.#entries.get(name);
    return entry ? composingModels(this.#readConfig(entry)) : [];
  }

  #contains(ensemble: string, model: string): boolean {
    return this.#listParts(ensemble).some((part) => part === model || this.#contains(part, model));
  }

  #over(model: string): ModelEntry[] {
    return [...this.#entries.values()].filter(({ name }) => this.#contains(name, model));
  }

  #innerFirst(): ModelEntry[] {
    const ensembles = [...this.#entries.values()].filter(({ name }) => this.#listParts(name).length > 0);
    const depth = (name: string): number => Math.max(0, ...this.#listParts(name).map((part) => 1 + depth(part)));
    return ensembles.sort((a, b) => depth(a.name) - depth(b.name));
  }
}
