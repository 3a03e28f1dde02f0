import { estimatedWords } from '#base/tokens.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { AnswerCache } from '../models/answer-cache.ts';
import { isDecoupledConfig, type Job, type Servable } from '../models/servable.ts';
import type { SharedParts } from '../models/surroundings.ts';
import { VersionStatistics } from '../models/version-statistics.ts';
import type { Placement } from '../scheduling/placement.ts';
import { type ModelSignature, type TextCall, toSignature } from '../wire/infer-call.ts';
import { ProtocolFailure } from '../wire/protocol-failure.ts';
import type { Answer } from './answer.ts';
import { LanguageEngine, type Submitted } from './engine.ts';
import type { LanguageModel } from './language-model.ts';

export interface LanguageVersionOptions {
  readonly model: string;
  readonly version: string;
  readonly config: ModelConfig;
  readonly language: LanguageModel;
  /** The model's counters for the metrics endpoint, which outlive the version. */
  readonly lifetime: VersionStatistics;
}

export interface TextListener {
  /** Called for each token of the answer, to be appended to the previous ones. */
  token(text: string, index: number): void;
  /** Called after the last token. */
  end(): void;
}

/** An answer in progress. */
export interface TextAnswer extends Pick<Answer, 'text' | 'finish'> {
  readonly promptTokens: number;
  readonly outputTokens: number;
  readonly submitted: Submitted;
}

/** One loaded version of a language model: requests over any protocol go to its engine. */
export class LanguageVersion implements Servable {
  readonly model: string;
  readonly version: string;
  readonly signature: ModelSignature;
  readonly statistics: VersionStatistics;
  readonly isDecoupled: boolean;
  readonly encoded = new AnswerCache();
  readonly engine: LanguageEngine;
  /** The maximum number of tokens in a prompt and its answer together. */
  readonly mostTokens: number;
  config: ModelConfig;
  readonly #language: LanguageModel;
  readonly #lifetime: VersionStatistics;
  readonly #around: SharedParts;

  constructor({ model, version, config, language, lifetime }: LanguageVersionOptions, around: SharedParts) {
    this.model = model;
    this.version = version;
    this.config = config;
    this.signature = toSignature(model, config);
    this.statistics = new VersionStatistics(around.clock);
    this.isDecoupled = isDecoupledConfig(config);
    this.engine = new LanguageEngine(language, around);
    this.mostTokens = language.mostTokens;
    this.#language = language;
    this.#lifetime = lifetime;
    this.#around = around;
  }

  get waitingRequests(): number {
    return this.engine.waiting;
  }

  /**
   * Submits a request over Triton's protocols: one response per token for a stream, otherwise a
   * single one.
   */
  submit(job: Job): void {
    const { text } = job;
    if (!text) throw new ProtocolFailure('INVALID_ARGUMENT', `'${this.model}' needs a text to answer`);
    const answer = this.generate(text, {
      token: (token) => {
        if (text.isStream) job.respond?.(token);
      },
      end: () => {
        if (!text.isStream) job.respond?.(answer.text);
        job.done(null, null);
      },
    });
  }

  /** Starts an answer. Throws INVALID_ARGUMENT for a prompt that leaves no room for an answer. */
  generate(request: Omit<TextCall, 'isStream'>, listener: TextListener): TextAnswer {
    const prompt = request.texts.flatMap(estimatedWords);
    if (prompt.length === 0) throw new ProtocolFailure('INVALID_ARGUMENT', 'The decoder prompt cannot be empty');
    const place = this.mostTokens - prompt.length;
    if (place < Math.max(1, request.maxTokens ?? 1)) throw tooLong(this.mostTokens, prompt.length, request.maxTokens);
    const answer = this.#language.answerer.answer(request, place);
    const startNs = this.#around.clock.nowNs();
    const outputTokens = answer.tokens.length;
    let written = 0;
    let spoken = 0;
    const submitted = this.engine.submit(
      { prompt, output: answer.tokens.map((token) => token.trim()), finish: answer.finish },
      {
        token: (index) => {
          spoken += (answer.tokens[index] as string).length;
          listener.token(answer.text.slice(written, spoken), index);
          written = spoken;
          if (index + 1 < outputTokens) return;
          this.#count(this.#around.clock.nowNs() - startNs);
          listener.end();
        },
      },
    );
    return { promptTokens: prompt.length, outputTokens, text: answer.text, finish: answer.finish, submitted };
  }

  /** An engine has one instance. */
  setInstances({ config }: Placement): void {
    this.config = config;
  }

  drained(): Promise<void> {
    return this.engine.drained();
  }

  #count(totalNs: number): void {
    const compute = { inputNs: 0, inferNs: totalNs, outputNs: 0 };
    for (const counters of [this.statistics, this.#lifetime]) {
      counters.executed(1, compute);
      counters.succeeded(1, 0, compute, totalNs);
    }
  }
}

/** The message is in vLLM's manner. */
function tooLong(most: number, promptTokens: number, maxTokens: number | null): ProtocolFailure {
  const words = maxTokens === null ? '' : ` and ${maxTokens} in the completion`;
  return new ProtocolFailure(
    'INVALID_ARGUMENT',
    `This model's maximum context length is ${most} tokens. However, you requested ${promptTokens + (maxTokens ?? 1)} tokens ` +
      `(${promptTokens} in the messages${words}). Please reduce the length of the messages or completion.`,
  );
}
