import { describeLimit, type ExplainWatch, explainObservation } from '#app/explain/explain.ts';
import type { ObservedServer } from '#app/explain/observation.ts';
import { realClock } from '#base/clock.ts';
import { formatMessage } from '#base/errors.ts';
import type { LatencyLimit } from '#explain/explain-by-simulation.ts';
import type { ModelExplanation } from '#explain/explanation.ts';
import { summarizeLive } from '#explain/live-view.ts';
import type { CounterReading } from '#explain/readings.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { findSelected, firstChoice, type LiveView } from '#tui/live-view.ts';
import type { TerminalCanvas } from '../terminal.ts';

/** Causes and forecasts of the selected model are computed anew after this time. */
const EXPLAINED_EVERY_MS = 10_000;

/** An open page, and what tells it what happens. */
export interface LivePage {
  readonly watch: Pick<ExplainWatch, 'onReading' | 'onServer'>;
  close(): Promise<void>;
}

/** Opens the page of a live service on the terminal. `onQuit`: called when the person leaves it. */
export async function openLivePage(
  canvas: TerminalCanvas,
  budget: LatencyLimit,
  url: string,
  onQuit: () => void,
): Promise<LivePage> {
  process.env.NODE_ENV ??= 'production';
  const { openLiveScreen } = await import('#tui/live-screen.ts');
  const live = new LiveService(budget);
  const first: LiveView = {
    server: 'triton',
    url,
    budget: describeLimit(budget),
    seconds: 0,
    models: [],
    explanation: null,
    note: null,
  };
  const screen = openLiveScreen(first, { ...canvas, onQuit, onSelect: (model) => live.select(model) });
  live.onChange = (change) => screen.show({ ...first, ...change });
  return {
    watch: {
      onReading: (readings) => live.read(readings),
      onServer: (server, configs) => live.meet(server, configs),
    },
    close: () => screen.close(),
  };
}

/** What is known of the service: figures after each reading, the explanation now and then. */
class LiveService {
  readonly #budget: LatencyLimit;
  onChange: (change: Partial<LiveView>) => void = () => undefined;
  #server: ObservedServer['server'] = { name: '', version: '', url: '' };
  #configs: ReadonlyMap<string, ModelConfig> = new Map();
  #readings: readonly CounterReading[] = [];
  #firstNs: number | null = null;
  #selected: string | null = null;
  #explanation: ModelExplanation | null = null;
  #note: string | null = null;
  #explainedMs = Number.NEGATIVE_INFINITY;
  #isExplaining = false;

  constructor(budget: LatencyLimit) {
    this.#budget = budget;
  }

  select(model: string | null): void {
    this.#selected = model;
    this.#explainedMs = Number.NEGATIVE_INFINITY;
    this.#show();
  }

  meet(server: ObservedServer['server'], configs: ReadonlyMap<string, ModelConfig>): void {
    this.#server = server;
    this.#configs = configs;
    this.#explainedMs = Number.NEGATIVE_INFINITY;
  }

  read(readings: readonly CounterReading[]): void {
    this.#readings = readings;
    this.#firstNs ??= readings[0]?.atNs ?? null;
    this.#show();
  }

  #show(): void {
    const models = summarizeLive(this.#readings, this.#configs);
    const lastNs = this.#readings.at(-1)?.atNs ?? 0;
    const { name, version, url } = this.#server;
    this.onChange({
      ...(name !== '' && { server: `${name} ${version}`, url }),
      seconds: this.#firstNs === null ? 0 : (lastNs - this.#firstNs) / 1e9,
      models,
      explanation: this.#explanation,
      note: this.#note,
    });
    const selected = findSelected({ models }, { ...firstChoice, model: this.#selected });
    const isDue = realClock.nowNs() / 1e6 - this.#explainedMs >= EXPLAINED_EVERY_MS;
    if (selected !== null && isDue && !this.#isExplaining && this.#configs.size > 0) void this.#explain(selected);
  }

  async #explain(model: string): Promise<void> {
    this.#isExplaining = true;
    this.#explainedMs = realClock.nowNs() / 1e6;
    this.#note = null;
    try {
      const observed = { at: '', server: this.#server, configs: this.#configs, readings: this.#readings };
      const { models } = await explainObservation(observed, this.#budget, [model], (line) => {
        this.#note = line;
      });
      this.#explanation = models[0] ?? null;
      if (!this.#explanation) this.#note ??= 'no request yet';
    } catch (error) {
      this.#note = formatMessage(error);
    }
    this.#isExplaining = false;
    this.#show();
  }
}
