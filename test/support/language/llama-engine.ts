/** How a model is run. */
export interface EngineOptions {
  /** The URL of the module `node-llama-cpp`. */
  readonly library: string;
  readonly model: string;
  readonly parallel: number;
  /** Tokens of one sequence, at most. */
  readonly contextTokens: number;
  readonly batchTokens: number;
  readonly threads: number;
  readonly keyType: string;
  readonly valueType: string;
  readonly flashAttention: boolean | 'auto';
}

/** One token of a reply. */
export interface Generated {
  readonly text: string;
  readonly promptTokens: number;
  /** With this one. */
  readonly outputTokens: number;
  /** Why it is the last one; null for one that is not. */
  readonly finish: 'length' | 'stop' | null;
}

export interface Asking {
  readonly maxTokens: number;
  readonly ignoresEnd: boolean;
  readonly signal: AbortSignal;
}

/**
 * A language model whose sequences are computed together, each step with those that are there then.
 */
export interface Engine {
  generate(text: string, asking: Asking): AsyncGenerator<Generated>;
  state(): { readonly running: number; readonly waiting: number; readonly usedTokens: number; readonly tokens: number };
}

type Token = number & { readonly __token: never };

/** What is used of node-llama-cpp, which is no dependency of this package. */
interface Sequence {
  readonly nextTokenIndex: number;
  clearHistory(): Promise<void>;
  evaluate(tokens: readonly Token[], options: object): AsyncGenerator<Token>;
}
interface Model {
  readonly tokens: { readonly eos: Token | null; readonly eot: Token | null };
  readonly tokenizer: object;
  tokenize(text: string, specialTokens: boolean): Token[];
  detokenize(tokens: readonly Token[], specialTokens?: boolean, lastTokens?: readonly Token[]): string;
  isEogToken(token: Token): boolean;
  createContext(options: object): Promise<{ getSequence(): Sequence }>;
}
interface Library {
  getLlama(options: object): Promise<{ loadModel(options: object): Promise<Model> }>;
  readonly LlamaLogLevel: { readonly error: string };
  readonly TokenBias: new (tokenizer: object) => { set(token: Token, bias: 'never'): void };
}

/** Tokens before one that its text may depend on, as with characters of several bytes. */
const LOOK_BACK = 8;

/** Opens a model, on the CPU alone. */
export async function openEngine(options: EngineOptions): Promise<Engine> {
  const { getLlama, LlamaLogLevel, TokenBias } = (await import(options.library)) as Library;
  const fixed = { gpu: false, build: 'never', skipDownload: true, progressLogs: false } as const;
  const llama = await getLlama({ ...fixed, logLevel: LlamaLogLevel.error, maxThreads: options.threads });
  const model = await llama.loadModel({ modelPath: options.model, gpuLayers: 0 });
  const context = await model.createContext({
    sequences: options.parallel,
    contextSize: options.contextTokens,
    batchSize: options.batchTokens,
    threads: options.threads,
    flashAttention: options.flashAttention,
    experimentalKvCacheKeyType: options.keyType.toUpperCase(),
    experimentalKvCacheValueType: options.valueType.toUpperCase(),
    // A smaller cache than was asked for would be another setting.
    failedCreationRemedy: false,
  });
  const sequences = Array.from({ length: options.parallel }, () => context.getSequence());
  const free = [...sequences];
  const waiting: ((sequence: Sequence) => void)[] = [];
  const take = (): Promise<Sequence> | Sequence =>
    free.pop() ?? new Promise<Sequence>((resolve) => waiting.push(resolve));
  const giveBack = (sequence: Sequence): void => {
    const next = waiting.shift();
    if (next) next(sequence);
    else free.push(sequence);
  };
  const endless = new TokenBias(model.tokenizer);
  for (const token of [model.tokens.eos, model.tokens.eot]) if (token !== null) endless.set(token, 'never');

  async function* generate(text: string, { maxTokens, ignoresEnd, signal }: Asking): AsyncGenerator<Generated> {
    const tokens = model.tokenize(text, true);
    if (tokens.length + maxTokens > options.contextTokens)
      throw new Error(`${tokens.length} + ${maxTokens} tokens do not fit into a context of ${options.contextTokens}`);
    const sequence = await take();
    try {
      await sequence.clearHistory();
      const before: Token[] = tokens.slice(-LOOK_BACK);
      let count = 0;
      const how = { temperature: 0, yieldEogToken: true, ...(ignoresEnd && { tokenBias: endless }) };
      for await (const token of sequence.evaluate(tokens, how)) {
        if (signal.aborted) return;
        count += 1;
        const isEnd = model.isEogToken(token);
        const piece = isEnd ? '' : model.detokenize([token], false, before.slice(-LOOK_BACK));
        before.push(token);
        const finish = isEnd ? 'stop' : count === maxTokens ? 'length' : null;
        yield { text: piece, promptTokens: tokens.length, outputTokens: count, finish };
        if (finish !== null) return;
      }
    } finally {
      giveBack(sequence);
    }
  }

  return {
    generate,
    state: () => ({
      running: options.parallel - free.length,
      waiting: waiting.length,
      usedTokens: sequences.reduce((sum, { nextTokenIndex }) => sum + nextTokenIndex, 0),
      tokens: options.parallel * options.contextTokens,
    }),
  };
}
