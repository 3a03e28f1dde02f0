import { readFileSync } from 'node:fs';
import { median } from 'simple-statistics';
import { engineSimulatorOf } from '../src/perfmodel/continuous/engine-simulator.ts';
import { readTokenFigure } from '../src/perfmodel/continuous/token-figures.ts';
import { correctedFigure } from '../src/perfmodel/correction.ts';
import { choiceOf } from '../src/perfmodel/modelled-config.ts';
import { simulatedFigure } from '../src/perfmodel/simulated.ts';
import { type Measured, measuredChoices } from '../src/perfmodel/simulator.ts';
import type { Candidate } from '../src/space/types.ts';
import type { StudyRecord } from '../src/study/records/records.ts';

/**
 * The held-out error of the law of an engine's steps, on journals of studies: `npm run bench:engine-law JOURNAL...`. Each candidate in turn is left out, the
 * law is fitted to all others, and predicts that candidate's measurements. Prints by figure the median miss in per cent, of the law alone and with its
 * residual correction, and the share of the measurements within two of its standard deviations.
 */
const FIGURES = ['output-token-throughput', 'tpot-avg', 'itl-p50', 'itl-p99', 'ttft-p50', 'ttft-p99'] as const;

interface Miss {
  readonly figure: string;
  readonly law: number;
  readonly corrected: number;
  readonly isWithin: boolean;
}

/** Returns the measurements in a journal, one entry per candidate. */
function measuredIn(file: string): readonly Measured[] {
  const candidates = new Map<number, Candidate>();
  const found = new Map<string, Measured>();
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
  return [...found.values()].filter(({ choice }) => choice.continuous);
}

function missesOf(left: Measured, others: readonly Measured[]): readonly Miss[] {
  const [first] = left.measurements;
  if (!first) return [];
  const { mode } = first.level;
  const all = [left, ...others].map(({ choice }) => choiceOf(choice.candidate));
  const percentile = first.budgetLatencyMs.percentile;
  const simulator = engineSimulatorOf(others, { mode, percentile, seed: 1, all });
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

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

for (const file of process.argv.slice(2)) {
  const measured = measuredIn(file);
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
    const within = own.filter(({ isWithin }) => isWithin).length / own.length;
    console.log(
      `  ${figure.padEnd(24)} ${percent(law).padStart(7)} law, ${percent(corrected).padStart(7)} corrected, ${percent(within)} of ${own.length} within two deviations`,
    );
  }
}
