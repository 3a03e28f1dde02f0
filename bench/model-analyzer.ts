import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { launchLocal } from '#launch/local-server.ts';
import { installTriton } from '#launch/triton-install.ts';
import { makeModelRepository } from '../test/support/real-triton.ts';
import { ANALYZER_VERSION, clientScript, modelAnalyzer, searchWithAnalyzer } from './analyzer.ts';
import { perfAnalyzer } from './peers.ts';

/**
 * Model Analyzer's quick search in remote mode on a real Triton, once with `tritune-perf-analyzer`
 * in perf_analyzer's place and once with perf_analyzer: `npm run bench:model-analyzer`. Prints how
 * long each took and its best rows. It shows that our program can stand in for the other one; the
 * search is Model Analyzer's both times. About ten minutes.
 */
const MODEL = 'sleeper';
const BUDGET_MS = 8;

const root = resolve(import.meta.dirname, '..');
const installDirectory = join(root, '.triton');

const install = await installTriton({ directory: installDirectory, onStep: (step) => console.log(step) });
const peer = await perfAnalyzer(install);
const analyzer = await modelAnalyzer(install);
const scratch = await mkdtemp(join(tmpdir(), 'tritune-bench-'));
const modelRepository = await makeModelRepository();
const ourCommand = `exec ${process.execPath} ${join(root, 'src/cli/perf-analyzer-main.ts')}`;
const theirCommand = `LD_LIBRARY_PATH=${peer.libraryDirectory} exec ${peer.file}`;
try {
  const clients = [
    ['tritune-perf-analyzer', await clientScript(join(scratch, 'ours'), ourCommand)],
    ['perf_analyzer', await clientScript(join(scratch, 'theirs'), theirCommand)],
  ] as const;
  for (const [name, client] of clients) {
    console.log(`\nModel Analyzer ${ANALYZER_VERSION}, quick search, p99 within ${BUDGET_MS} ms, with ${name}`);
    // A server each: the last variant that was tried stays on it.
    const logDirectory = scratch;
    const server = await launchLocal({ modelRepository, installDirectory, logDirectory, loadModels: [MODEL] });
    try {
      const order = { analyzer, client, server, modelRepository, model: MODEL, budgetMs: BUDGET_MS };
      const { seconds, rows } = await searchWithAnalyzer({
        ...order,
        settings: { run_config_search_mode: 'quick' },
      });
      console.log(`done in ${seconds.toFixed(0)} s; the rows that it ranks first:`);
      for (const row of rows.slice(0, 3)) console.log(`  ${Object.values(row).join(',')}`);
    } finally {
      await server.stop();
    }
  }
} finally {
  await rm(scratch, { recursive: true });
  await rm(modelRepository, { recursive: true });
}
