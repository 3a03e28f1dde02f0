import { describe, expect, it } from 'vitest';
import { VirtualClock } from '#base/clock.ts';
import { engineReading } from '#profiler/devices/engine-metrics.ts';
import { watchEngine } from '#profiler/devices/engine-readings.ts';
import { parsePrometheus } from '#profiler/devices/prometheus.ts';

const read = (...lines: readonly string[]) => engineReading(parsePrometheus(lines.join('\n')));

describe("an engine's metrics page", () => {
  it('is read by the names of each engine, over all engines of a server', () => {
    expect(
      read(
        'vllm:num_requests_running{engine="0"} 3',
        'vllm:num_requests_running{engine="1"} 5',
        'vllm:num_requests_waiting{engine="0"} 2',
        'vllm:kv_cache_usage_perc{engine="0"} 0.25',
        'vllm:kv_cache_usage_perc{engine="1"} 0.75',
        'vllm:num_preemptions_total{engine="0"} 7',
      ),
    ).toEqual({ runningSequences: 8, waitingSequences: 2, kvCacheShare: 0.5, preemptions: 7 });
    expect(read('vllm:gpu_cache_usage_perc{model_name="m"} 0.5')).toEqual({ kvCacheShare: 0.5 });
    expect(read('sglang:num_running_reqs 4', 'sglang:num_queue_reqs 1', 'sglang:token_usage 0.1')).toEqual({
      runningSequences: 4,
      waitingSequences: 1,
      kvCacheShare: 0.1,
    });
    expect(read('llamacpp:requests_processing 2', 'llamacpp:requests_deferred 6')).toEqual({
      runningSequences: 2,
      waitingSequences: 6,
    });
    expect(
      read(
        'nv_trt_llm_request_metrics{model="m",request_type="waiting"} 2',
        'nv_trt_llm_request_metrics{model="m",request_type="scheduled"} 9',
        'nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="fraction",model="m"} 0.4',
      ),
    ).toEqual({ runningSequences: 9, waitingSequences: 2, kvCacheShare: 0.4 });
    expect(read('nv_inference_request_success{model="m"} 1')).toBeNull();
  });

  it('gives means over the measurement, and preemptions per second', async () => {
    const clock = new VirtualClock();
    let preemptions = 0;
    const watch = watchEngine({
      clock,
      engineProbe: async () => {
        if (preemptions === 3) watch.stop();
        return { runningSequences: preemptions, preemptions: preemptions++ };
      },
    });
    watch.start();
    const { engine } = await watch.figures();
    // Read at 0, 0.5, 1 and 1.5 s.
    expect(engine?.runningSequences).toBeCloseTo(1.5);
    expect(engine?.preemptionsPerSecond).toBeCloseTo(2);
    expect(await watchEngine({ clock, engineProbe: async () => null }).figures()).toEqual({});
  });
});
