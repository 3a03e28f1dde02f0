import { canonicalJson, type Json } from '#base/json.ts';
import { graphSpecsUpTo } from '#triton/config/cuda-graphs.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { warmUpTo } from './warm-up.ts';

/**
 * Returns the config with the names of values that follow the largest batch in their place, such as
 * `powers_of_2` for the CUDA graphs of each power of two: candidates that differ in the largest
 * batch then have equal settings.
 */
export function withRelativeNames(config: ModelConfig): ModelConfig {
  const cuda = (config.optimization?.cuda ?? {}) as { readonly graph_spec?: Json };
  const hasGraphs = isSame(cuda.graph_spec, () => graphSpecsUpTo(config));
  const warmUp = (['max', 'each'] as const).find((batches) =>
    isSame(config.model_warmup, () => {
      const fitted = warmUpTo(config, { kind: 'warm-up', batches });
      return 'value' in fitted ? fitted.value : undefined;
    }),
  );
  if (!hasGraphs && warmUp === undefined) return config;
  return {
    ...config,
    ...(warmUp && { model_warmup: warmUp }),
    ...(hasGraphs && { optimization: { ...config.optimization, cuda: { ...cuda, graph_spec: 'powers_of_2' } } }),
  };
}

function isSame(value: Json | undefined, compute: () => Json | undefined): boolean {
  if (value === undefined) return false;
  const computed = compute();
  return computed !== undefined && canonicalJson(value) === canonicalJson(computed);
}
