import { ProtocolFailure } from './wire/protocol-failure.ts';

/** Values by name; null resets the setting to its fallback. */
export type TraceChange = { readonly [name: string]: readonly string[] | null };
export type TraceValues = { readonly [name: string]: readonly string[] };

/** The settings of a server without `--trace-config`, in Triton's order. */
const defaults: TraceValues = {
  trace_level: ['OFF'],
  trace_rate: ['1000'],
  trace_count: ['-1'],
  log_frequency: ['0'],
  trace_file: [''],
  trace_mode: ['triton'],
};
const numbers = ['trace_rate', 'trace_count', 'log_frequency'] as const;
const UINT32 = 2 ** 32;

/**
 * Trace settings of the server and of its models, with the checks and messages of Triton 2.51. The
 * emulator writes no traces: as on a server without a trace file, tracing cannot be switched on.
 */
export class EmulatedTraceSettings {
  readonly #file: string;
  readonly #changed = new Map<string, Map<string, readonly string[]>>();

  /**
   * `file`: the trace file that the server was started with, `''` for none. Nothing is written to
   * it.
   */
  constructor(file = '') {
    this.#file = file;
  }

  /** Returns the settings of a model; '' for the server's own. */
  read(model: string): TraceValues {
    const of = (name: string) => Object.fromEntries(this.#changed.get(name) ?? []);
    return { ...defaults, trace_file: [this.#file], ...of(''), ...(model !== '' && of(model)) };
  }

  /**
   * Skips unknown names and levels. Throws UNIMPLEMENTED and INVALID_ARGUMENT; then nothing has
   * changed.
   */
  update(model: string, change: TraceChange): void {
    if (change.trace_file)
      throw new ProtocolFailure('UNIMPLEMENTED', 'trace file location can not be updated through network protocol');
    const known = new Map<string, readonly string[] | null>();
    for (const name of numbers) {
      const values = change[name];
      if (values) known.set(name, [readNumber(name, values)]);
      else if (values === null) known.set(name, null);
    }
    const levels = change.trace_level;
    if (levels === null) known.set('trace_level', null);
    const on = levels?.filter((level) => level === 'TIMESTAMPS' || level === 'TENSORS') ?? [];
    if (on.length > 0 && this.#file === '')
      throw refusal('Attempting to set invalid trace setting :trace file name is not given');
    if (levels?.includes('OFF')) known.set('trace_level', ['OFF']);
    else if (on.length > 0) known.set('trace_level', on);
    const changes = this.#changed.get(model) ?? new Map<string, readonly string[]>();
    this.#changed.set(model, changes);
    for (const [name, values] of known) {
      if (values) changes.set(name, values);
      else changes.delete(name);
    }
  }
}

/** A rate below 0 wraps around, like the server's own number. */
function readNumber(name: (typeof numbers)[number], values: readonly string[]): string {
  const [text = ''] = values;
  if (values.length !== 1) throw refusal(`expect only 1 value for '${name}'`);
  if (!/^[+-]?\d+$/.test(text)) throw refusal(`Unable to parse '${name}', got: ${text}`);
  const value = Number(text);
  if (Math.abs(value) >= UINT32)
    throw refusal(`Unable to parse '${name}', value is out of range [ 0, ${UINT32 - 1} ], got: ${text}`);
  if (name === 'trace_count') {
    if (value < -1) throw refusal(`Unable to parse 'trace_count'. Expecting value >= -1, got:${text}`);
    return String(value);
  }
  return String(value < 0 ? UINT32 + value : value);
}

const refusal = (message: string): ProtocolFailure => new ProtocolFailure('INVALID_ARGUMENT', message);
