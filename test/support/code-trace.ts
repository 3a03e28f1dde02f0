/**
 * Requests in each second of a published trace: of the code completions in Azure's LLM inference
 * trace of 2023 (AzurePublicDataset, AzureLLMInferenceTrace_code.csv), from 18:20:07 to 18:20:52.
 * Bursts of up to 28 requests a second, and seven seconds with none.
 */
const perSecond = [
  ...[9, 0, 0, 0, 8, 12, 0, 0, 7, 13, 0, 0, 14, 26, 21, 23, 28, 11, 6, 5, 5, 6, 7],
  ...[0, 0, 0, 0, 0, 0, 0, 3, 11, 20, 4, 0, 2, 14, 8, 12, 28, 5, 27, 12, 8, 18],
];

/** Seconds of the trace. */
export const TRACE_S = perSecond.length;
/** Requests per second, on average. */
export const TRACE_RATE = perSecond.reduce((sum, count) => sum + count, 0) / TRACE_S;

/** A workload of these arrivals, evenly spread over their second. */
export const codeTrace = (limitMs: number): object => ({
  workloadVersion: 1,
  name: 'code',
  classes: { completion: { limitMs } },
  phases: [
    {
      durationS: TRACE_S,
      arrivals: {
        process: 'trace',
        atS: perSecond.flatMap((count, second) => Array.from({ length: count }, (_, at) => second + at / count)),
      },
    },
  ],
});
