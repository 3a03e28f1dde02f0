import type { FlatStudyOptions } from '#spec/tune-options.ts';
import { allowance } from '../../options/allowance.ts';
import { type OptionTable, under } from '../../options/option-table.ts';

type MeasuringOptions = Pick<FlatStudyOptions, 'precision' | 'stability' | 'requestTimeout' | 'allowForeignTraffic'>;
type AccuracyOptions = Pick<FlatStudyOptions, 'atol' | 'rtol' | 'outsideShare' | 'accuracyCommand'>;

/** The options for the length of a study's measurements. */
export const studyMeasuringOptionTable: OptionTable<MeasuringOptions> = under<MeasuringOptions>('Measurement', {
  precision: {
    flags: '--precision <percent>',
    help: 'Measure until the 95 % intervals are this narrow, in ± percent',
  },
  stability: {
    flags: '--stability <rule>',
    help: "When a measurement is complete: by its intervals, or by perf_analyzer's rule (three 5 s windows within 10 %)",
  },
  requestTimeout: {
    flags: '--request-timeout <duration>',
    help: 'Time after which a request without a reply counts as failed (default: 30s; for a language model by its slowest reply)',
  },
  allowForeignTraffic: {
    flags: '--allow-foreign-traffic',
    help: 'Continue even if other clients send requests to the model; their share is reported',
  },
});

/** The options for the required accuracy of outputs. */
export const accuracyOptionTable: OptionTable<AccuracyOptions> = under<AccuracyOptions>('Accuracy', {
  atol: {
    flags: '--atol <x>',
    help: 'Absolute error allowed in outputs, against those of --input-data, such as 0.01 or boxes=1,scores=0.01 (default: 0)',
    parse: allowance,
  },
  rtol: {
    flags: '--rtol <x>',
    help: 'Relative error allowed in addition, in the same form (default: 0)',
    parse: allowance,
  },
  outsideShare: {
    flags: '--outside-share <share>',
    help: 'Share of output values that may be further off, 0 to 1 (default: 0)',
  },
  accuracyCommand: {
    flags: '--accuracy-command <words...>',
    help: "Command that reads the outputs to --input-data and prints a figure, and its limit: 'python top1.py' 'top1>=0.75'",
  },
});
