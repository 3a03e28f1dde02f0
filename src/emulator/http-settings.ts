import type { LogSettings } from './log-settings.ts';
import { ProtocolFailure } from './protocol-failure.ts';
import type { TraceChange } from './trace-settings.ts';

/** The body of a trace setting: strings, a list for the levels, null to clear. Throws INTERNAL for any other value. */
export function changedTrace(body: { readonly [name: string]: unknown }): TraceChange {
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => {
      if (value === null) return [name, null];
      if (name === 'trace_level') {
        if (!Array.isArray(value)) throw notA('array');
        return [name, value.map(String)];
      }
      if (typeof value !== 'string') throw notA('string');
      return [name, [value]];
    }),
  );
}

/** Sets what the body of a log setting says. Throws as `LogSettings.update`. */
export function changedLog(settings: LogSettings, body: { readonly [name: string]: unknown }): void {
  settings.update(
    body,
    (format) => new ProtocolFailure('UNAVAILABLE', `invalid argument for --log_format, got: ${format}`),
  );
}

const notA = (type: string): ProtocolFailure =>
  new ProtocolFailure('INTERNAL', `attempt to access JSON non-${type} as ${type}`);
