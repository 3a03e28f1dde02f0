/** The exports of `tritune`: docs/library.md. */
export type { AdapterDefinition, MeasuringRule, OpenedAdapter } from '#adapter/definition.ts';
export { settingsAdapter } from '#adapter/settings/adapter.ts';
export type { SettingsServer } from '#adapter/settings/server.ts';
export { type ErrorCode, isTrituneError, TrituneError } from '#base/errors.ts';
export { type Random, randomFor } from '#base/random.ts';
export type { CapacityDocument } from '#capacity/document-schema.ts';
export type { CapacityEvent } from '#capacity/means.ts';
export type { LoadLevel } from '#loadgen/types.ts';
export type { Measurement } from '#profiler/measurement.ts';
export type { Assignment, Candidate, CandidateOutcome } from '#space/types.ts';
export type { StudySpec, StudySpecInput } from '#spec/study-spec.ts';
export type { Metric, MetricColumn, MetricInterval, MetricNeed } from '#study/goal/metrics/metric.ts';
export type { SamplerDefinition, SamplerOptions } from '#study/search/samplers/registry.ts';
export type { SpaceView } from '#study/search/samplers/space-view.ts';
export type { SummaryPoint } from '#study/summary/point-schema.ts';
export type { RankedModel, SeriesEntry, SeriesSummary, Summary } from '#study/summary/summary-schema.ts';
export type {
  Constraint,
  Goal,
  History,
  LatencyBudget,
  LevelPlan,
  LevelRange,
  Objective,
  Proposal,
  Remaining,
  RunningTrial,
  Sampler,
  Stop,
  Trial,
} from '#study/types.ts';
export type { ModelConfig } from '#triton/config/model-config.ts';
export type { Applied, EmittedDocument, MeasureOptions, Restored, ServerAdapter } from '#tuner/adapter.ts';
export { CandidateRefusedError } from '#tuner/refused.ts';
export type { TunerEvent } from '#tuner/seams.ts';
export { type CapacityOptions, type CapacityWatch, capacity } from './capacity.ts';
export type { TuneOptions } from './options.ts';
export {
  type SeriesEvent,
  type SeriesFinished,
  type SeriesModel,
  type TuneSeriesOptions,
  type TuneSeriesWatch,
  tuneSeries,
} from './series.ts';
export { type DocumentsWritten, type TuneEvent, type TuneWatch, tune } from './tune.ts';
