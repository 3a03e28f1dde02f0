import { ProtocolFailure } from './wire/protocol-failure.ts';

/** Settings with Triton's names, in its order. */
export interface LogValues {
  readonly log_file: string;
  readonly log_info: boolean;
  readonly log_warning: boolean;
  readonly log_error: boolean;
  readonly log_verbose_level: number;
  readonly log_format: string;
}

const flags = ['log_info', 'log_warning', 'log_error'] as const;

/**
 * The log settings, which can be set and read back; the emulator has no log. Checks and messages
 * are those of Triton 2.51.
 */
export class LogSettings {
  #values: LogValues = {
    log_file: '',
    log_info: true,
    log_warning: true,
    log_error: true,
    log_verbose_level: 0,
    log_format: 'default',
  };

  read(): LogValues {
    return this.#values;
  }

  /**
   * Skips unknown names. `badFormat` makes the error for an invalid format, which the protocols
   * word differently. Throws UNIMPLEMENTED, INTERNAL and the error of `badFormat`; then nothing has
   * changed.
   */
  update(change: { readonly [name: string]: unknown }, badFormat: (format: string) => ProtocolFailure): void {
    const next: Record<string, unknown> = { ...this.#values };
    if (change.log_file !== undefined)
      throw new ProtocolFailure('UNIMPLEMENTED', 'log file location can not be updated through network protocol');
    for (const name of flags) {
      const value = change[name];
      if (value === undefined) continue;
      if (typeof value !== 'boolean') throw notA('boolean');
      next[name] = value;
    }
    const { log_verbose_level: level, log_format: format } = change;
    if (level !== undefined) {
      if (!Number.isInteger(level) || (level as number) < 0) throw notA('unsigned-integer');
      next.log_verbose_level = level;
    }
    if (format !== undefined) {
      if (typeof format !== 'string') throw notA('string');
      if (format !== 'default' && format !== 'ISO8601') throw badFormat(format);
      next.log_format = format;
    }
    this.#values = next as unknown as LogValues;
  }
}

const notA = (type: string): ProtocolFailure =>
  new ProtocolFailure('INTERNAL', `attempt to access JSON non-${type} as ${type}`);
