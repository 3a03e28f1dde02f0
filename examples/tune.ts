// Tunes a model from a program. Start a server first, for example the embedded emulator:
//
//   npx tritune emulate --profile demo
//
// then, in a project with tritune installed:
//
//   node tune.ts yolov7 localhost:8001 80
import { isTrituneError, type Summary, tune } from 'tritune';

const [model = 'yolov7', url = 'localhost:8001', budgetMs = '80'] = process.argv.slice(2);

const interrupt = new AbortController();
// tune() leaves the signals of the process to the program; aborting puts the model back as it was.
process.once('SIGINT', () => interrupt.abort());

try {
  const summary = await tune(
    { model, url, latencyBudget: Number(budgetMs), concurrency: { low: 8, high: 32 }, maxTrials: 2, timeBudget: 30 },
    {
      signal: interrupt.signal,
      onNote: (line) => console.error(line),
      onEvent: (event) => {
        if (event.type === 'trial-measured')
          console.error(`trial ${event.trial}: ${Math.round(event.measurement.throughput.value)} infer/s`);
        if (event.type === 'documents-written') console.error(`the best config: ${event.files.config}`);
      },
    },
  );
  console.log(verdict(summary));
} catch (error) {
  if (!isTrituneError(error)) throw error;
  console.error(`${error.code}: ${error.message} (${error.hint})`);
  process.exitCode = 1;
}

function verdict({ best, gain, feasible }: Summary): string {
  if (!best || !feasible) return 'nothing met the budget';
  const times = gain?.ratio == null ? 'an unknown number of' : gain.ratio.toFixed(2);
  return `${best.throughput.value?.toFixed(0)} infer/s, ${times} times the original config: ${JSON.stringify(best.assignment)}`;
}
