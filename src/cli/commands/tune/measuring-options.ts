import { stabilityRules } from '../../../spec/study-spec.ts';
import type { FlatStudyOptions } from '../../../spec/tune-options.ts';
import { type OptionTable, under } from '../../options/option-table.ts';
import { durationSeconds, positiveNumber, share } from '../../options/option-values.ts';

type MeasuringOptions = Pick<FlatStudyOptions, 'precision' | 'stability' | 'requestTimeout' | 'allowForeignTraffic'>;
type AccuracyOptions = Pick<FlatStudyOptions, 'atol' | 'rtol' | 'outsideShare'>;

/** The options for the length of a study's measurements. */
export const studyMeasuringOptionTable: OptionTable<MeasuringOptions> = under<MeasuringOptions>('Measurement', {
  precision: {
    flags: '--precision <percent>',
    help: 'Measure until the 95 % intervals are this narrow, in ± percent',
    parse: positiveNumber,
    default: 3,
  },
  stability: {
    flags: '--stability <rule>',
    help: "When a measurement is complete: by its intervals, or by perf_analyzer's rule (three 5 s windows within 10 %)",
    choices: stabilityRules,
    default: 'interval',
  },
  requestTimeout: {
    flags: '--request-timeout <duration>',
    help: 'Time after which a request without a reply counts as failed (default: 30s; for a language model by its slowest reply)',
    parse: durationSeconds,
  },
  allowForeignTraffic: {
    flags: '--allow-foreign-traffic',
    help: 'Continue even if other clients send requests to the model; their share is reported',
    default: false,
  },
});

/** The options for the required accuracy of outputs. */
export const accuracyOptionTable: OptionTable<AccuracyOptions> = under<AccuracyOptions>('Accuracy', {
  atol: {
    flags: '--atol <x>',
    help: 'Absolute error allowed in outputs, against those of --input-data (default: 0)',
    parse: positiveNumber,
  },
  rtol: {
    flags: '--rtol <x>',
    help: 'Relative error allowed in addition (default: 0)',
    parse: positiveNumber,
  },
  outsideShare: {
    flags: '--outside-share <share>',
    help: 'Share of output values that may be further off, 0 to 1 (default: 0)',
    parse: share,
  },
});
