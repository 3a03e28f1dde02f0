import type { Measurement } from '../../profiler/measurement.ts';

/** A measurement with figures of tokens. */
export type TokenMeasurement = Measurement & Required<Pick<Measurement, 'tokens'>>;
