import type { Clock } from '../base/clock.ts';
import { isTrituneError, messageOf, TrituneError } from '../base/errors.ts';
import { nsToMs } from '../base/units.ts';
import type { Candidate } from '../space/types.ts';
import { type ConfigDifference, compareConfigs, onlyInstancesDiffer } from '../triton/config-comparison.ts';
import type { ModelConfig } from '../triton/model-config.ts';
import type { ModelControl, ServerHealth } from '../triton/types.ts';
import type { Applied, Control, Restored } from './seams.ts';

export interface ControlOptions {
  readonly clock: Clock;
  /** `config` sends the original config again, without an outage. `reload` unloads and loads from the repository, so that nothing of an override remains. */
  readonly restore: 'config' | 'reload';
  /** How long one load may take. */
  readonly loadTimeoutMs: number;
  /** How long a loaded model may take to become ready, and an unloaded one to go. */
  readonly settleTimeoutMs: number;
}

export type ControlClient = ModelControl & Pick<ServerHealth, 'modelReady'>;

const POLL_MS = 50;
const RESTORE_WAITS_MS = [500, 1_000, 2_000, 4_000, 8_000];

/**
 * Model control over one server. `originalConfig` is what the server had before the first change, by an earlier run of
 * the study too; `wasLoaded` is false for a model that was not loaded then, and is unloaded at the end.
 */
export function createControl(
  client: ControlClient,
  model: string,
  originalConfig: ModelConfig,
  wasLoaded: boolean,
  options: ControlOptions,
): Control {
  return new ServerControl(client, model, originalConfig, wasLoaded, options);
}

class ServerControl implements Control {
  readonly #client: ControlClient;
  readonly #model: string;
  readonly #original: ModelConfig;
  readonly #wasLoaded: boolean;
  readonly #options: ControlOptions;
  /** The config sent last, and what the server then said it has: defaults and auto-completed fields make them differ. */
  #serving: { readonly sent: ModelConfig; readonly read: ModelConfig };
  #touched = false;

  constructor(
    client: ControlClient,
    model: string,
    original: ModelConfig,
    wasLoaded: boolean,
    options: ControlOptions,
  ) {
    this.#client = client;
    this.#model = model;
    this.#original = original;
    this.#wasLoaded = wasLoaded;
    this.#options = options;
    this.#serving = { sent: original, read: original };
  }

  async apply(candidate: Candidate, signal: AbortSignal): Promise<Applied> {
    const startNs = this.#options.clock.nowNs();
    const current = await this.#readConfig(signal);
    const known = current !== null && equal(current, this.#serving.read);
    if (known && equal(candidate.config, this.#serving.sent)) return { candidate, change: 'none', loadMs: 0 };
    const change = known && onlyInstancesDiffer(this.#serving.sent, candidate.config) ? 'in-place' : 'full';
    await this.#load(candidate.config, signal);
    const read = await this.#client.modelConfig(this.#model, { signal });
    this.#serving = { sent: candidate.config, read };
    // A field that only the config read back has is one that the server filled in.
    const differences = compareConfigs(candidate.config, read).filter((difference) => difference.before !== undefined);
    if (differences.length > 0) throw mismatch(this.#model, differences);
    return { candidate, change, loadMs: nsToMs(this.#options.clock.nowNs() - startNs) };
  }

  async restore(): Promise<Restored> {
    for (let attempt = 0; ; attempt++) {
      try {
        const restored = await this.#putBack();
        this.#touched = false;
        return restored;
      } catch (error) {
        const waitMs = RESTORE_WAITS_MS[attempt];
        if (waitMs === undefined) throw restoreFailed(this.#model, error);
        await this.#options.clock.sleep(waitMs);
      }
    }
  }

  async #putBack(): Promise<Restored> {
    if (!this.#wasLoaded) return this.#unloadAgain();
    const current = await this.#readConfig();
    // After a change the original is sent even if it seems to be there: a load that timed out may still be under way.
    if (!this.#touched && current && equal(current, this.#original)) {
      return { how: 'nothing-changed', verified: true, detail: `'${this.#model}' has its original config` };
    }
    if (this.#options.restore === 'reload' && (await this.#reload())) {
      return { how: 'reload', verified: true, detail: `'${this.#model}' was loaded again from its repository` };
    }
    await this.#load(this.#original);
    const differences = compareConfigs(this.#original, await this.#client.modelConfig(this.#model));
    if (differences.length > 0) throw mismatch(this.#model, differences);
    this.#serving = { sent: this.#original, read: this.#original };
    return { how: 'config', verified: true, detail: `'${this.#model}' has its original config again` };
  }

  async #unloadAgain(): Promise<Restored> {
    await this.#unload();
    return { how: 'unload', verified: true, detail: `'${this.#model}' is unloaded again, as it was before` };
  }

  /** False when the repository's config is not the original one, which then was an override itself. */
  async #reload(): Promise<boolean> {
    await this.#unload();
    await this.#load();
    const read = await this.#client.modelConfig(this.#model);
    this.#serving = { sent: read, read };
    return equal(read, this.#original);
  }

  async #load(config?: ModelConfig, signal?: AbortSignal): Promise<void> {
    this.#touched = true;
    const call = { timeoutMs: this.#options.loadTimeoutMs, ...(signal && { signal }) };
    await this.#client.load(this.#model, config, call);
    await this.#until(() => this.#client.modelReady(this.#model, signal ? { signal } : {}), 'become ready', signal);
  }

  /** The unload goes on after the server's reply; the index tells when it is done. */
  async #unload(): Promise<void> {
    this.#touched = true;
    await this.#client.unload(this.#model);
    const isGone = async (): Promise<boolean> => {
      const entries = (await this.#client.index()).filter((entry) => entry.name === this.#model);
      return entries.every((entry) => entry.state === 'UNAVAILABLE' || entry.state === '');
    };
    await this.#until(isGone, 'unload');
  }

  /** null when the model is not loaded. */
  async #readConfig(signal?: AbortSignal): Promise<ModelConfig | null> {
    try {
      return await this.#client.modelConfig(this.#model, signal ? { signal } : {});
    } catch (error) {
      if (isTrituneError(error, 'MODEL_UNKNOWN', 'MODEL_UNREADY')) return null;
      throw error;
    }
  }

  async #until(holds: () => Promise<boolean>, what: string, signal?: AbortSignal): Promise<void> {
    const { clock, settleTimeoutMs } = this.#options;
    const startNs = clock.nowNs();
    while (!(await holds())) {
      if (nsToMs(clock.nowNs() - startNs) > settleTimeoutMs) {
        throw new TrituneError(
          'MODEL_UNREADY',
          `'${this.#model}' did not ${what} within ${settleTimeoutMs / 1e3} s`,
          'look at the log of the server',
        );
      }
      await clock.sleep(POLL_MS, signal);
    }
  }
}

const equal = (a: ModelConfig, b: ModelConfig): boolean => compareConfigs(a, b).length === 0;

function mismatch(model: string, differences: readonly ConfigDifference[]): TrituneError {
  const shown = differences
    .slice(0, 3)
    .map(({ path, before, after }) => `${path} is ${words(after)}, not ${words(before)}`);
  const more = differences.length > shown.length ? `; and ${differences.length - shown.length} more` : '';
  return new TrituneError(
    'CONFIG_MISMATCH',
    `the server has another config of '${model}' than was sent: ${shown.join('; ')}${more}`,
    'something else changes the model, or this server does not take these fields',
  );
}

const words = (value: unknown): string => (value === undefined ? 'absent' : JSON.stringify(value));

function restoreFailed(model: string, error: unknown): TrituneError {
  return new TrituneError(
    'RESTORE_FAILED',
    `'${model}' could not be put back as it was: ${messageOf(error)}`,
    'when the server answers again, run `tritune restore` on the output directory',
    { cause: error },
  );
}
