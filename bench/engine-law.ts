import { readFileSync } from 'node:fs';
import { median } from 'simple-statistics';
import { fitEngineModel } from '#perfmodel/continuous/engine-model.ts';
import { readTokenFigure } from '#perfmodel/continuous/token-figures.ts';
import { correctedFigure } from '#perfmodel/correction.ts';
import { toChoice } from '#perfmodel/modelled-config.ts';
import { type MeasuredChoice, measuredChoices } from '#perfmodel/service-model.ts';
import { simulatedFigure } from '#perfmodel/simulated.ts';
import type { Candidate } from '#space/types.ts';
import type { StudyRecord } from '#study/records/records.ts';

/**
 * The held-out error of the law of an engine's steps, on journals of studies:
 * `npm run bench:engine-law JOURNAL[,REPEATS...]...`. Each candidate of JOURNAL in turn is left
 * out, the law is fitted to all others, and predicts that candidate's measurements. Prints by
 * figure the median miss in per cent, of the law alone and with its residual correction; the
 * scatter of repeated readings of one candidate, in JOURNAL and in other journals of the same
 * engine (REPEATS), below which no error can be expected; and the share of the measurements within
 * two of the prediction's standard deviations.
 */
const FIGURES = ['output-token-throughput', 'tpot-avg', 'itl-p50', 'itl-p99', 'ttft-p50', 'ttft-p99'] as const;

type FigureName = (typeof FIGURES)[number];

interface Miss {
  readonly figure: FigureName;
  readonly law: number;
  readonly corrected: number;
  readonly isWithin: boolean;
}

/** Returns the measurements in journals, one entry per candidate. */
function measuredIn(files: readonly string[]): readonly MeasuredChoice[] {
  const found = new Map<string, MeasuredChoice>();
  for (const file of files) {
    const candidates = new Map<number, Candidate>();
    for (const line of readFileSync(file, 'utf8').trim().split('\n')) {
      const record = JSON.parse(line) as StudyRecord;
      if (record.type === 'trial-started') candidates.set(record.trial, record.candidate);
      if (record.type !== 'trial-measured') continue;
      const candidate = candidates.get(record.trial) as Candidate;
      for (const each of measuredChoices(candidate, [record.measurement])) {
        const earlier = found.get(each.choice.key);
        const measurements = [...(earlier?.measurements ?? []), ...each.measurements];
        found.set(each.choice.key, { choice: each.choice, measurements });
      }
    }
  }
  return [...found.values()].filter(({ choice }) => choice.continuous);
}

function missesOf(left: MeasuredChoice, others: readonly MeasuredChoice[]): readonly Miss[] {
  const [first] = left.measurements;
  if (!first) return [];
  const { mode } = first.level;
  const all = [left, ...others].map(({ choice }) => toChoice(choice.candidate));
  const percentile = first.budgetLatencyMs.percentile;
  const simulator = fitEngineModel(others, { mode, percentile, seed: 1, all });
  if (!simulator) return [];
  return FIGURES.flatMap((figure) => {
    const correct = correctedFigure(figure, simulator, others, { longestDelayUs: 0 });
    return left.measurements.flatMap((measurement): Miss[] => {
      const { value } = measurement.level;
      const truth = readTokenFigure(figure, measurement)?.value ?? 0;
      const simulated = simulator.predict(left.choice, value);
      const alone = simulated && simulatedFigure(simulated, figure);
      const predicted = correct(left.choice, value);
      if (!(truth > 0) || !alone || !predicted) return [];
      const off = predicted.mean - Math.log(truth);
      const isWithin = Math.abs(off) <= 2 * Math.hypot(predicted.sd, 0.04);
      return [{ figure, law: Math.abs(alone / truth - 1), corrected: Math.abs(Math.expm1(off)), isWithin }];
    });
  });
}

/**
 * Returns the distances of repeated readings of a candidate from their mean, as shares: the errors
 * of a predictor that knows each candidate's true figure. A mean of *n* readings is nearer to them
 * than the truth is; √(n / (n − 1)) makes up for it.
 */
function scatterOf(measured: readonly MeasuredChoice[], figure: FigureName): readonly number[] {
  return measured.flatMap(({ measurements }) =>
    [...Map.groupBy(measurements, ({ level }) => level.value).values()].flatMap((alike) => {
      const logs = alike.flatMap((measurement) => {
        const value = readTokenFigure(figure, measurement)?.value ?? 0;
        return value > 0 ? [Math.log(value)] : [];
      });
      if (logs.length < 2) return [];
      const mean = logs.reduce((sum, value) => sum + value, 0) / logs.length;
      const widening = Math.sqrt(logs.length / (logs.length - 1));
      return logs.map((value) => Math.expm1(widening * Math.abs(value - mean)));
    }),
  );
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`.padStart(7);

for (const argument of process.argv.slice(2)) {
  const [file, ...repeats] = argument.split(',') as [string, ...string[]];
  const measured = measuredIn([file]);
  const repeated = measuredIn([file, ...repeats]);
  const misses = measured.flatMap((left) =>
    missesOf(
      left,
      measured.filter((each) => each !== left),
    ),
  );
  console.log(`${file}: ${measured.length} candidates`);
  for (const [figure, own] of Map.groupBy(misses, (miss) => miss.figure)) {
    const [law, corrected] = [own.map((each) => each.law), own.map((each) => each.corrected)].map(median) as [
      number,
      number,
    ];
    const scatter = scatterOf(repeated, figure);
    const floor =
      scatter.length > 0 ? `${percent(median([...scatter]))} scatter of ${scatter.length} readings` : 'no repeats';
    const within = own.filter(({ isWithin }) => isWithin).length / own.length;
    console.log(
      `  ${figure.padEnd(24)} ${percent(law)} law, ${percent(corrected)} corrected, ${floor}, ${percent(within)} of ${own.length} within two deviations`,
    );
  }
}
