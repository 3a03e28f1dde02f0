import { describe, expect, it } from 'vitest';
import { lastLoadSeconds } from '../../src/profiler/devices/metrics-page.ts';
import { parsePrometheus } from '../../src/profiler/devices/prometheus.ts';

const page = (...lines: string[]) => parsePrometheus(lines.join('\n'));

describe('the last load on a metrics page', () => {
  it('is the slowest of the versions of that model', () => {
    const samples = page(
      '# TYPE nv_model_load_duration_secs gauge',
      'nv_model_load_duration_secs{model="m",version="1"} 1.611378656',
      'nv_model_load_duration_secs{model="m",version="2"} 2.5',
      'nv_model_load_duration_secs{model="other",version="1"} 9',
      'nv_inference_count{model="m",version="1"} 12',
    );
    expect(lastLoadSeconds(samples, 'm')).toBe(2.5);
  });

  it('is not known where nothing says so', () => {
    expect(lastLoadSeconds(page('nv_inference_count{model="m",version="1"} 12'), 'm')).toBeNull();
    expect(lastLoadSeconds(page('nv_model_load_duration_secs{model="other",version="1"} 9'), 'm')).toBeNull();
    for (const none of ['0', 'NaN', '-1'])
      expect(lastLoadSeconds(page(`nv_model_load_duration_secs{model="m",version="1"} ${none}`), 'm')).toBeNull();
  });
});
