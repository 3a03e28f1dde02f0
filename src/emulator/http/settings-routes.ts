import type { LogSettings } from '../log-settings.ts';
import type { TraceChange } from '../trace-settings.ts';
import { ProtocolFailure } from '../wire/protocol-failure.ts';
import { listIn, textIn } from './request.ts';

/**
 * Returns the body of a trace setting: strings, a list for the levels, null to clear. Throws
 * INTERNAL for any other value.
 */
export function changedTrace(body: { readonly [name: string]: unknown }): TraceChange {
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => {
      if (value === null) return [name, null];
      if (name === 'trace_level') {
        return [name, listIn(value).map(textIn)];
      }
      return [name, [textIn(value)]];
    }),
  );
}

/** Applies the body of a log setting. Throws as `LogSettings.update`. */
export function changedLog(settings: LogSettings, body: { readonly [name: string]: unknown }): void {
  settings.update(
    body,
    (format) => new ProtocolFailure('UNAVAILABLE', `invalid argument for --log_format, got: ${format}`),
  );
}
