import { lookUp } from '#base/look-up.ts';
import type { TraceSpec } from '#spec/profile-spec.ts';
import type { TraceControl, TraceSettings } from '#triton/types.ts';

/** perf_analyzer's defaults. */
const DEFAULTS = { traceRate: 1000, traceCount: -1, logFrequency: 0 } as const;

/**
 * Does the work while the server traces as the options say, and always restores its settings.
 * Without such options, asks the server nothing.
 */
export async function traced<T>(server: TraceControl | undefined, spec: TraceSpec, work: () => Promise<T>): Promise<T> {
  const change = findChange(spec);
  if (change === null || server === undefined) return work();
  const before = await server.traceSettings();
  const earlier = Object.fromEntries(Object.keys(change).map((name) => [name, lookUp(before, name) ?? []]));
  try {
    await server.changeTraceSettings(change);
    return await work();
  } finally {
    await server.changeTraceSettings(earlier);
  }
}

function findChange({ traceLevel, ...numbers }: TraceSpec): TraceSettings | null {
  if (traceLevel === undefined) return null;
  const { traceRate, traceCount, logFrequency } = { ...DEFAULTS, ...numbers };
  return {
    trace_level: [traceLevel],
    trace_rate: [`${traceRate}`],
    trace_count: [`${traceCount}`],
    log_frequency: [`${logFrequency}`],
  };
}
