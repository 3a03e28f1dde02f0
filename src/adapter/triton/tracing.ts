import { TrituneError } from '#base/errors.ts';
import { lookUp } from '#base/look-up.ts';
import type { TraceControl, TraceSettings } from '#triton/types.ts';
import type { Tracing } from '#tuner/seams.ts';

/** No limit, and one file that is written when the settings change again. */
const withoutLimit = { trace_level: ['TIMESTAMPS'], trace_count: ['-1'], log_frequency: ['0'] } as const;
const changed = [...Object.keys(withoutLimit), 'trace_rate'];

/**
 * Controls tracing through the settings of the whole server: its protocol offers them, but nobody
 * can change the file's path.
 */
export function createTracing(server: TraceControl): Tracing {
  return {
    look: async () => {
      const now = await server.traceSettings();
      return { earlier: those(now), file: readTraceFile(now) };
    },
    start: async (rate, count = -1) => {
      const changes = { trace_rate: [`${rate}`], trace_count: [`${count}`] };
      await server.changeTraceSettings({ ...withoutLimit, ...changes });
    },
    putBack: async (earlier) => {
      await server.changeTraceSettings(earlier);
      const now = await server.traceSettings();
      return Object.entries(earlier).every(([name, values]) => `${lookUp(now, name) ?? []}` === `${values}`);
    },
  };
}

const those = (settings: TraceSettings): TraceSettings =>
  Object.fromEntries(
    changed.flatMap((name) => {
      const values = lookUp(settings, name);
      return values === undefined ? [] : [[name, values]];
    }),
  );

/**
 * Returns the file that a server traces into. Errors: UNSUPPORTED if it was started without one, or
 * traces in another way.
 */
export function readTraceFile(settings: TraceSettings): string {
  const [mode = 'triton'] = settings.trace_mode ?? [];
  if (mode !== 'triton') {
    throw new TrituneError(
      'UNSUPPORTED',
      `the server traces in mode '${mode}', which writes no trace file`,
      'start it with --trace-config mode=triton --trace-config triton,file=FILE, or leave out --trace',
    );
  }
  const [file = ''] = settings.trace_file ?? [];
  if (file !== '') return file;
  throw new TrituneError(
    'UNSUPPORTED',
    'the server was started without a trace file',
    'start it with --trace-config triton,file=FILE, or leave out --trace',
  );
}
