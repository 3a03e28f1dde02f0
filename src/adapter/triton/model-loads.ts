import { isTrituneError, TrituneError } from '#base/errors.ts';
import { nsToMs } from '#base/units.ts';
import { onlyInstancesDiffer } from '#triton/config/comparison.ts';
import { isEngineDirectory, readEngineCache, withEngineCache } from '#triton/config/engine-cache.ts';
import { composingModels } from '#triton/config/ensemble-rules.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { withRunMark } from '#triton/config/run-mark.ts';
import { LoadRefusedError } from '#triton/control/load-refused.ts';
import { readOtherConfigs } from '#triton/control/other-configs.ts';
import type { LoadCall, ModelFiles } from '#triton/types.ts';
import type { ControlClient, ModelLoadOptions, OriginalState } from './control-options.ts';

const POLL_MS = 50;
/**
 * After a load that the user ended, the next one is waited for at least this long, and at least
 * this many times the longest load that was seen.
 */
const MIN_WAIT_AFTER_INTERRUPT_MS = 30_000;
const LONGEST_LOADS_AFTER_INTERRUPT = 3;

/** What is added to a config on the server only. */
interface Addition {
  readonly name: 'mark' | 'engines';
  /** Returns the config itself where there is nothing to add. */
  readonly add: (config: ModelConfig) => ModelConfig;
}

/** The calls that load, unload and read one model; each ends when the server is done with it. */
export class ModelLoads {
  readonly model: string;
  readonly #client: ControlClient;
  readonly #original: ModelConfig;
  readonly #options: ModelLoadOptions;
  /** Whether the model loads with an addition; absent until that is known. */
  readonly #takes = new Map<Addition['name'], boolean>();
  readonly #engineDirectories = new Set<string>();
  /** True if anything may have been changed, by this run or by one that was killed. */
  isTouched: boolean;
  /**
   * False if a load's end was not seen: it may still be in progress on the server, and swap the
   * model at any time.
   */
  isSettled: boolean;
  #longestLoadMs = 0;
  /** How long the last load had been waited for when a signal ended the wait; null if none did. */
  #interruptedAfterMs: number | null = null;

  constructor(client: ControlClient, { model, config }: OriginalState, options: ModelLoadOptions) {
    this.model = model;
    this.#original = config;
    this.#client = client;
    this.#options = options;
    this.isTouched = options.mayBeLoading ?? false;
    this.isSettled = !this.isTouched;
  }

  /**
   * Without a config, loads that of the repository. Errors: LOAD_REFUSED, MODEL_UNKNOWN,
   * MODEL_UNREADY, SERVER_*; the signal's reason.
   */
  async load(config?: ModelConfig, signal?: AbortSignal, files?: ModelFiles): Promise<void> {
    this.isTouched = true;
    const wasSettled = this.isSettled;
    this.isSettled = false;
    const call = { timeoutMs: this.#timeoutMs(), ...(signal && { signal }), ...(files && { files }) };
    const { clock } = this.#options;
    const startNs = clock.nowNs();
    try {
      await this.#send(config, call);
      this.#longestLoadMs = Math.max(this.#longestLoadMs, nsToMs(clock.nowNs() - startNs));
      this.#interruptedAfterMs = null;
    } catch (error) {
      if (signal?.aborted) this.#interruptedAfterMs = nsToMs(clock.nowNs() - startNs);
      // A refusal ends the load: the previous version is still served, even if the model is no
      // longer in the repository.
      if (isTrituneError(error, 'LOAD_REFUSED', 'MODEL_UNKNOWN')) this.isSettled = wasSettled;
      throw error;
    }
    await this.#until(() => this.#client.modelReady(this.model, signal ? { signal } : {}), 'become ready', signal);
  }

  /**
   * A load that the user ended goes on in the server, and the next one waits there until it is
   * over, which may be never. So the next one is not waited for longer than a load may well take.
   */
  #timeoutMs(): number {
    const { loadTimeoutMs } = this.#options;
    if (this.#interruptedAfterMs === null) return loadTimeoutMs;
    const usualMs = LONGEST_LOADS_AFTER_INTERRUPT * this.#longestLoadMs;
    return Math.min(loadTimeoutMs, Math.max(MIN_WAIT_AFTER_INTERRUPT_MS, this.#interruptedAfterMs, usualMs));
  }

  /** The directories of the server's machine in which loads of this run kept engines. */
  get engineDirectories(): readonly string[] {
    return [...this.#engineDirectories];
  }

  /**
   * Sends the config with its additions: the mark of the run, and a cache for TensorRT's engines.
   * The original and what differs from it in instance counts only have none: Triton would load the
   * model anew for them. What a model does not start with, such as a parameter that its code does
   * not know, is left out from then on.
   */
  async #send(config: ModelConfig | undefined, call: LoadCall): Promise<void> {
    if (!config || onlyInstancesDiffer(this.#original, config)) return this.#client.load(this.model, config, call);
    const additions = this.#listAdditions(config, call);
    const load = async (some: readonly Addition[]): Promise<void> => {
      const sent = some.reduce((before, { add }) => add(before), config);
      await this.#client.load(this.model, sent, call);
      for (const { name } of some) this.#takes.set(name, true);
      const directory = readEngineCache(sent);
      // Engines of the user stay.
      if (directory !== null && isEngineDirectory(directory)) this.#engineDirectories.add(directory);
    };
    try {
      await load(additions);
    } catch (error) {
      const isUnknown = ({ name }: Addition): boolean => !this.#takes.has(name);
      const mayBeOurs = error instanceof LoadRefusedError && error.kind === 'init-failed';
      if (!mayBeOurs || !additions.some(isUnknown)) throw error;
      await load(additions.filter((each) => !isUnknown(each)));
      for (const { name } of additions.filter(isUnknown)) this.#takes.set(name, false);
    }
  }

  #listAdditions(config: ModelConfig, { files }: LoadCall): readonly Addition[] {
    const { mark, engines } = this.#options;
    const all: Addition[] = [];
    if (mark) all.push({ name: 'mark', add: (before) => withRunMark(before, mark) });
    // Uploaded files may have the names of others.
    if (engines && !files) all.push({ name: 'engines', add: (before) => withEngineCache(before, engines.secret) });
    return all.filter(({ name, add }) => this.#takes.get(name) !== false && add(config) !== config);
  }

  /**
   * The unload continues after the server's reply; the index shows when it is done. Errors:
   * MODEL_UNREADY, SERVER_*.
   */
  async unload(signal?: AbortSignal): Promise<void> {
    this.isTouched = true;
    await this.#client.unload(this.model);
    const isGone = async (): Promise<boolean> => {
      const entries = (await this.#client.index()).filter((entry) => entry.name === this.model);
      return entries.every((entry) => entry.state === 'UNAVAILABLE' || entry.state === '');
    };
    await this.#until(isGone, 'unload', signal);
  }

  /** Errors: MODEL_UNKNOWN, MODEL_UNREADY for a model that is not loaded, SERVER_*. */
  config(signal?: AbortSignal): Promise<ModelConfig> {
    return this.#client.modelConfig(this.model, signal ? { signal } : {});
  }

  /** Returns null if the model is not loaded. */
  async configIfLoaded(signal?: AbortSignal): Promise<ModelConfig | null> {
    try {
      return await this.config(signal);
    } catch (error) {
      if (isTrituneError(error, 'MODEL_UNKNOWN', 'MODEL_UNREADY')) return null;
      throw error;
    }
  }

  /**
   * The index lists the models that a load can find: it omits a served model without a directory.
   */
  async isInRepository(): Promise<boolean> {
    return (await this.#client.index()).some((entry) => entry.name === this.model);
  }

  /** True if it is served, a load would find it again, and no served ensemble would lose it. */
  async canBeAway(): Promise<boolean> {
    const served = (await this.#client.index()).filter(({ state }) => state === 'READY').map(({ name }) => name);
    if (!served.includes(this.model)) return false;
    const others = served.filter((name) => name !== this.model);
    const { configs, unreadable, unread } = await readOtherConfigs(this.#client, others);
    // A model with an unreadable config may be an ensemble over this one.
    if (unreadable.size > 0 || unread.length > 0) return false;
    return Object.values(configs).every((each) => !composingModels(each).includes(this.model));
  }

  async #until(holds: () => Promise<boolean>, what: string, signal?: AbortSignal): Promise<void> {
    const { clock, settleTimeoutMs } = this.#options;
    const startNs = clock.nowNs();
    while (!(await holds())) {
      if (nsToMs(clock.nowNs() - startNs) > settleTimeoutMs) {
        throw new TrituneError(
          'MODEL_UNREADY',
          `'${this.model}' did not ${what} within ${settleTimeoutMs / 1e3} s`,
          'read the log of the server',
        );
      }
      await clock.sleep(POLL_MS, signal);
    }
  }
}
