import type { OptionRow } from './option-table.ts';

/** Where OpenTelemetry's data of a run goes (docs/ci.md). */
export const otlpOption: OptionRow<string> = {
  flags: '--otlp <url>',
  help: 'Send figures, and trials as spans, to an OpenTelemetry collector, such as http://collector:4318',
  heading: 'Output',
};
