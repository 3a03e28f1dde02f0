import type { InferRequest, RequestSet } from '../../loadgen/types.ts';
import type { TimedRequests } from './schedule.ts';

/** What a language model is sent. */
export interface PromptTraffic {
  readonly requests: RequestSet;
  readonly schedule: TimedRequests | null;
  readonly notes: readonly string[];
}

/** Prompts of a constant length, all different. */
export async function promptsOf(
  _: object,
  { model, seed }: { model: string; seed: number; traceSpeed?: number },
): Promise<PromptTraffic> {
  const requests = Array.from({ length: 64 }, (__, number): InferRequest => {
    const content = Array.from({ length: 128 }, (___, word) => (word === 0 ? `${seed * 64 + number}` : 'word')).join(
      ' ',
    );
    const prompt = {
      messages: [{ role: 'user' as const, content }],
      inputTokens: 128,
      maxTokens: 64,
      ignoresEnd: true,
    };
    return { model, version: '', inputs: [], batch: 1, prompt };
  });
  return { requests: { model, version: '', batch: 1, requests }, schedule: null, notes: [] };
}
