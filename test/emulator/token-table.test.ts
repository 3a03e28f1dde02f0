import { describe, expect, it } from 'vitest';
import { readTokenTable } from '#emulator/profile/token-table.ts';

describe('a table of a language model', () => {
  it('has a series for all rows that differ in their concurrency only', () => {
    const series = readTokenTable(
      [
        'id,backend,isl,osl,concurrency,tp_size,measured,silicon_ttft_ms,silicon_tpot_ms',
        'b,vllm,1024,512,8,2,2026-01-02,120,11',
        'a,vllm,1024,512,4,2,2026-01-01,90,10',
        'c,vllm,1024,512,8,2,2026-01-03,140,13',
        'd,vllm,1024,512,8,4,2026-01-03,70,7',
        'e,vllm,1024,512,,4,2026-01-03,,7',
      ].join('\n'),
    );
    expect(series).toEqual([
      {
        labels: { backend: 'vllm', isl: '1024', osl: '512', tp_size: '2' },
        inputTokens: 1024,
        outputTokens: 512,
        rows: [
          { concurrency: 4, ttftMs: 90, tpotMs: 10 },
          { concurrency: 8, ttftMs: 130, tpotMs: 12 },
        ],
      },
      {
        labels: { backend: 'vllm', isl: '1024', osl: '512', tp_size: '4' },
        inputTokens: 1024,
        outputTokens: 512,
        rows: [{ concurrency: 8, ttftMs: 70, tpotMs: 7 }],
      },
    ]);
  });

  it('is read in the names of vllm bench serve', () => {
    const series = readTokenTable(
      'max_concurrency,random_input_len,random_output_len,num_prompts,mean_ttft_ms,mean_tpot_ms,p99_ttft_ms\n16,800,200,160,50,9,80\n',
    );
    expect(series?.[0]?.rows).toEqual([{ concurrency: 16, ttftMs: 50, tpotMs: 9 }]);
  });

  it('is none without lengths, or with levels that nothing could play', () => {
    expect(readTokenTable('concurrency,inferences_per_s,p50_ms\n8,100,5\n')).toBeNull();
    expect(readTokenTable('concurrency,isl,osl,ttft_ms,tpot_ms\n9007199254740991,10,10,1,1\n')).toBeNull();
    expect(readTokenTable('')).toBeNull();
  });
});
