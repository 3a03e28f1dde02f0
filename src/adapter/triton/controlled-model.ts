import { isTrituneError } from '#base/errors.ts';
import { listed } from '#base/format.ts';
import { canonicalJson } from '#base/json.ts';
import { nsToMs } from '#base/units.ts';
import { compareConfigs, onlyInstancesDiffer } from '#triton/config/comparison.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { LoadRefusedError } from '#triton/control/load-refused.ts';
import type { ModelFiles } from '#triton/types.ts';
import type { Applied, Restored } from '#tuner/adapter.ts';
import type { ControlClient, ModelLoadOptions, OriginalState } from './control-options.ts';
import { ModelLoads } from './model-loads.ts';
import { changedByOthers, formatWords, keptWithoutRepository, mismatch, refused } from './model-words.ts';

/** The change that brought a model to a config. */
export type AppliedChange = Pick<Applied, 'change' | 'loadMs'>;

/** One model of a server: its intended config and its original one. */
export class ControlledModel {
  readonly original: OriginalState;
  readonly #options: ModelLoadOptions;
  readonly #loads: ModelLoads;
  /**
   * The last sent config, and the server's read-back of it: defaults and auto-completed fields make
   * them differ.
   */
  #serving: { readonly sent: ModelConfig; readonly read: ModelConfig };
  /**
   * The config was loaded as sent, so a load without one must not bring back that of the
   * repository, which may differ.
   */
  #isOverridden = false;
  /** The served config and another one, as texts, that do not fit into memory together. */
  readonly #tooMuch = new Set<string>();

  constructor(client: ControlClient, original: OriginalState, options: ModelLoadOptions) {
    this.original = original;
    this.#options = options;
    this.#loads = new ModelLoads(client, original, options);
    this.#serving = { sent: original.config, read: original.config };
  }

  get name(): string {
    return this.original.model;
  }

  /** The last sent config; the original one before the first. */
  get sent(): ModelConfig {
    return this.#serving.sent;
  }

  /**
   * Serves the config, from these files if there are any; they are only requested if the model must
   * be loaded. Errors: a CandidateRefusedError; CONFIG_MISMATCH, MODEL_LOCKED, SERVER_*; the
   * signal's reason.
   */
  async apply(
    config: ModelConfig,
    files: () => Promise<ModelFiles | undefined>,
    signal: AbortSignal,
  ): Promise<AppliedChange> {
    const current = await this.#loads.configIfLoaded(signal);
    if (this.#isOthers(current)) throw changedByOthers(this.name);
    const known = this.#loads.isSettled && current !== null && equal(current, this.#serving.read);
    if (known && equal(config, this.#serving.sent)) return { change: 'none', loadMs: 0 };
    const change = known && onlyInstancesDiffer(this.#serving.sent, config) ? 'in-place' : 'full';
    const uploaded = await files();
    const { clock, mayUnload = false } = this.#options;
    const loadNs = clock.nowNs();
    await (mayUnload && change === 'full'
      ? this.#loadWithRoom(config, signal, uploaded)
      : this.#loads.load(config, signal, uploaded)
    ).catch(refused(uploaded));
    await this.#readBack(config, signal);
    return { change, loadMs: nsToMs(clock.nowNs() - loadNs) };
  }

  /**
   * Loads an ensemble after its models: until then every load of any model recreates it
   * (docs/served-model.md). Sends no config if it keeps its own. Errors: as `apply`.
   */
  async renew(config: ModelConfig, signal: AbortSignal): Promise<AppliedChange> {
    const current = await this.#loads.configIfLoaded(signal);
    if (this.#isOthers(current)) throw changedByOthers(this.name);
    const { clock } = this.#options;
    const loadNs = clock.nowNs();
    const isKept = !this.#isOverridden && equal(config, this.original.config);
    await this.#loads.load(isKept ? undefined : config, signal).catch(refused(undefined));
    // The repository may have a different config than the served one.
    if (isKept && !equal(await this.#loads.config(signal), config)) {
      await this.#loads.load(config, signal).catch(refused(undefined));
      this.#isOverridden = true;
    }
    this.#isOverridden ||= !isKept;
    const change = current !== null && equal(config, this.#serving.sent) ? 'none' : 'full';
    await this.#readBack(config, signal);
    return { change, loadMs: nsToMs(clock.nowNs() - loadNs) };
  }

  /** Errors: CONFIG_MISMATCH if the server has a different config than this one, which was sent. */
  async #readBack(config: ModelConfig, signal: AbortSignal): Promise<void> {
    const read = await this.#loads.config(signal);
    this.#serving = { sent: config, read };
    this.#loads.isSettled = true;
    // The server filled in every field that only the read-back has.
    const differences = compareConfigs(config, read).filter((difference) => difference.before !== undefined);
    if (differences.length > 0) throw mismatch(this.name, differences);
  }

  /** Returns what differs from the state after `apply`, in words; null if nothing does. */
  async changed(signal: AbortSignal): Promise<string | null> {
    const current = await this.#loads.configIfLoaded(signal);
    if (current === null) return 'it is not loaded any more';
    const differences = compareConfigs(this.#serving.read, current);
    return differences.length === 0 ? null : formatWords(differences);
  }

  /**
   * Unloads it for another model that does not fit into memory besides it. Returns false if it is
   * not served, or must stay.
   */
  async makeWay(signal?: AbortSignal): Promise<boolean> {
    if (!(await this.#loads.canBeAway())) return false;
    await this.#loads.unload(signal);
    return true;
  }

  /**
   * Restores the model to its state before the study. Errors: whatever prevented that; a further
   * call may succeed.
   */
  async putBack(): Promise<Restored> {
    const restored = await this.#putBack();
    this.#loads.isTouched = false;
    this.#loads.isSettled = true;
    const left = await this.#removeEngines();
    return left === '' ? restored : { ...restored, detail: `${restored.detail}; ${left}` };
  }

  /** Removes the engines of the run's loads; returns where some are left, in words. */
  async #removeEngines(): Promise<string> {
    const remove = this.#options.engines?.remove;
    const left: string[] = [];
    for (const directory of this.#loads.engineDirectories) {
      const isGone =
        remove !== undefined &&
        (await remove(directory).then(
          () => true,
          () => false,
        ));
      if (!isGone) left.push(directory);
    }
    if (left.length === 0) return '';
    return `TensorRT's engines are left in ${listed(left)} of the server's machine, and may be removed`;
  }

  async #putBack(): Promise<Restored> {
    const { config: original, wasLoaded } = this.original;
    if (!wasLoaded) return this.#unloadAgain();
    const current = await this.#loads.configIfLoaded();
    // After a change the original is sent even if it seems to be served: a load that timed out may
    // still be in progress.
    if (!this.#loads.isTouched && current && equal(current, original)) {
      return { how: 'nothing-changed', verified: true, detail: `'${this.name}' has its original config` };
    }
    if (this.#isOthers(current)) {
      const detail = `somebody else has changed '${this.name}' meanwhile; this run has not, and leaves it so`;
      return { how: 'nothing-changed', verified: false, detail };
    }
    // A model that is no longer in the repository would be unloaded for good.
    const isReload = this.#options.restore === 'reload' && (await this.#loads.isInRepository());
    if (isReload && (await this.#reload())) {
      return { how: 'reload', verified: true, detail: `'${this.name}' was loaded again from its repository` };
    }
    try {
      await this.#loadWithRoom(original);
    } catch (error) {
      const isThere = this.#loads.isSettled && current !== null && equal(current, original);
      if (isThere && isTrituneError(error, 'MODEL_UNKNOWN')) return keptWithoutRepository(this.name);
      throw error;
    }
    const differences = compareConfigs(original, await this.#loads.config());
    if (differences.length > 0) throw mismatch(this.name, differences);
    this.#serving = { sent: original, read: original };
    return { how: 'config', verified: true, detail: `'${this.name}' has its original config again` };
  }

  /**
   * Restoring the original over it would undo another tuner's work, or keep a config that it tried.
   */
  #isOthers(current: ModelConfig | null): boolean {
    const { isNewStudy = false } = this.#options;
    return isNewStudy && !this.#loads.isTouched && current !== null && !equal(current, this.original.config);
  }

  async #unloadAgain(): Promise<Restored> {
    await this.#loads.unload();
    return { how: 'unload', verified: true, detail: `'${this.name}' is unloaded again, as it was before` };
  }

  /**
   * False if the repository's config is not the original one, which then was an override itself.
   */
  async #reload(): Promise<boolean> {
    await this.#loads.unload();
    await this.#loads.load();
    const read = await this.#loads.config();
    this.#serving = { sent: read, read };
    return equal(read, this.original.config);
  }

  /**
   * Triton loads another config next to the served one and swaps them at the end, which takes the
   * memory of both. If that does not fit, the served one is unloaded first, and the model is away
   * while the other loads. Each pair that does not fit is discovered only once.
   */
  async #loadWithRoom(config: ModelConfig, signal?: AbortSignal, files?: ModelFiles): Promise<void> {
    const both = canonicalJson([this.#serving.sent, config]);
    if (!this.#tooMuch.has(both)) {
      try {
        return await this.#loads.load(config, signal, files);
      } catch (error) {
        const isShort = error instanceof LoadRefusedError && error.kind === 'out-of-memory';
        if (!isShort || !(await this.#loads.canBeAway())) throw error;
        this.#tooMuch.add(both);
      }
    }
    if (await this.#loads.canBeAway()) await this.#loads.unload(signal);
    await this.#loads.load(config, signal, files);
  }
}

const equal = (a: ModelConfig, b: ModelConfig): boolean => compareConfigs(a, b).length === 0;
