import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { launchEmulator } from '#launch/emulator-server.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { printConfigText } from '#triton/config/printer.ts';
import { clientScript, modelAnalyzer, searchWithAnalyzer } from '../../bench/analyzer.ts';
import { type PerfAnalyzer, perfAnalyzer, pythonClients } from '../../bench/peers.ts';
import { cliProgram } from '../support/cli-program.ts';
import { emulatorForTest, everyKindProfile, smallProfile } from '../support/emulator.ts';
import { realTriton } from '../support/real-triton.ts';
import { freshDirectory } from '../support/run-directory.ts';

/** Clients that nobody here wrote, against the emulator. */
const run = promisify(execFile);
const script = resolve(import.meta.dirname, 'clients/everything.py');
const REFUSED = 'refused: ';
const FETCH_MS = 600_000;

describe('the Python clients', () => {
  let python: string;
  beforeAll(async () => {
    python = await pythonClients(await realTriton());
  }, FETCH_MS);

  it('call everything that they can', async () => {
    const { grpcUrl, httpUrl } = await emulatorForTest({ profile: everyKindProfile() });
    const { stdout } = await run(python, [script, grpcUrl, httpUrl], { timeout: 60_000 });
    const seen = JSON.parse(stdout);
    const noStart =
      `${REFUSED}inference request for sequence 7 to model 'seq' must specify the START flag on the first request of ` +
      'the sequence';
    const alike = {
      live: true,
      ready: true,
      server: 'tritune-emulator',
      metadata: 'IN',
      max_batch_size: 8,
      index: ['chain', 'm', 'second', 'seq', 'stream'],
      infer: [
        [1, 4],
        [8, 4],
      ],
      ensemble: [2, 4],
      'too large': `${REFUSED}[request id: <id_unknown>] inference request batch-size must be <= 8 for 'm'`,
      unknown: `${REFUSED}Request for unknown model: 'nothing' is not found`,
      'no start': noStart,
      sequence: [
        [1, 4],
        [1, 4],
        [1, 4],
      ],
      'after end': noStart,
      loaded: `${REFUSED}[request id: <id_unknown>] inference request batch-size must be <= 4 for 'm'`,
      invalid: `${REFUSED}failed to load 'm', failed to poll from model repository`,
      versions: ['3'],
      'versions again': ['1'],
      unloaded: [false, false],
      'loaded again': [true, true],
      statistics: 'chain',
      // The region held 7s where the output, which is 0s, was to go.
      'shared memory': [1, [0, 0, 0, 0]],
      trace: '5',
      'trace on': `${REFUSED}Attempting to set invalid trace setting :trace file name is not given`,
      log: 2,
    };
    const response = (id: string, isFinal: boolean, outputs = 1) => [id, isFinal, outputs];
    expect(seen).toEqual({
      grpc: alike,
      http: alike,
      streams: {
        decoupled: [1, 2, 3].map(() => response('a', false)),
        'empty final': [...[1, 2, 3].map(() => response('b', false)), response('b', true, 0)],
        plain: [response('c', true)],
        error: [['error', "Request for unknown model: 'nothing' is not found"]],
        sequence: ['0', '1', '2'].map((id) => response(id, true)),
        unary: `${REFUSED}ModelInfer RPC doesn't support models with decoupled transaction policy`,
      },
      compressed: [
        [3, 4],
        [3, 4],
      ],
      'http compressed': [
        [3, 4],
        [3, 4],
      ],
      'http unary': `${REFUSED}HTTP end point doesn't support models with decoupled transaction policy`,
    });
  });
});

describe('perf_analyzer', () => {
  let peer: PerfAnalyzer;
  beforeAll(async () => {
    peer = await perfAnalyzer(await realTriton());
  }, FETCH_MS);

  /** Its table: one row of figures by column for every level. */
  async function sweep(model: string, protocol: 'grpc' | 'http', levels: readonly string[]): Promise<RowOfFigures[]> {
    const emulator = await emulatorForTest({ profile: everyKindProfile() });
    const csv = join(await freshDirectory(), 'report.csv');
    const url = protocol === 'grpc' ? emulator.grpcUrl : emulator.httpUrl;
    const quick = ['-p', '400', '-r', '3', '-s', '100000'];
    await run(peer.file, ['-m', model, '-u', url, '-i', protocol, '-f', csv, ...quick, ...levels], {
      timeout: 60_000,
      env: { ...process.env, LD_LIBRARY_PATH: peer.libraryDirectory },
    });
    return rowsOf(await readFile(csv, 'utf8'));
  }

  it.each([
    ['grpc', []],
    ['http', []],
    ['grpc', ['--shared-memory', 'system']],
    ['http', ['--shared-memory', 'system']],
  ] as const)('sweeps concurrency over %s %j', async (protocol, more) => {
    const rows = await sweep('m', protocol, ['--concurrency-range', '1:5:4', ...more]);
    expect(rows.map((row) => row.Concurrency).sort()).toEqual([1, 5]);
    for (const row of rows) {
      expect(row['Inferences/Second']).toBeGreaterThan(0);
      // An execution takes at least 1 ms: it has read the server's statistics.
      expect(row['Server Compute Infer']).toBeGreaterThan(900);
    }
  });

  it.each(['grpc', 'http'] as const)('sweeps request rates over %s, in batches', async (protocol) => {
    const rows = await sweep('m', protocol, ['--request-rate-range', '40:80:40', '-b', '2']);
    expect(rows.map((row) => row['Request Rate']).sort()).toEqual([40, 80]);
    for (const row of rows) expect(row['Inferences/Second']).toBeGreaterThan(0);
  });

  it.each([
    ['stream', ['--streaming']],
    ['seq', ['--sequence-length', '5']],
    ['chain', []],
  ] as const)('loads %s', async (model, more) => {
    const [row] = await sweep(model, 'grpc', ['--concurrency-range', '3', ...more]);
    expect(row?.['Inferences/Second']).toBeGreaterThan(0);
  });
});

describe('Model Analyzer', () => {
  let program: string;
  let peer: PerfAnalyzer;
  beforeAll(async () => {
    const install = await realTriton();
    program = await modelAnalyzer(install);
    peer = await perfAnalyzer(install);
  }, FETCH_MS);

  it('finishes its quick search', async () => {
    // Batches and further instances only cost time, so its search soon ends.
    const law = {
      execution_ms: [
        [1, 2],
        [2, 5],
      ],
      interference: { per_instance: 1.5 },
    };
    const small = smallProfile({ config: { dynamic_batching: {} }, law });
    const scratch = await freshDirectory();
    const profile = join(scratch, 'profile.json');
    await writeFile(profile, JSON.stringify(small));
    const server = await launchEmulator({ profile, script: cliProgram('main'), logDirectory: scratch });
    try {
      const modelRepository = join(scratch, 'models');
      await mkdir(join(modelRepository, 'm', '1'), { recursive: true });
      await writeFile(
        join(modelRepository, 'm', 'config.pbtxt'),
        printConfigText(small.models[0]?.config as ModelConfig),
      );
      const command = `LD_LIBRARY_PATH=${peer.libraryDirectory} exec ${peer.file}`;
      const { rows } = await searchWithAnalyzer({
        analyzer: program,
        client: await clientScript(join(scratch, 'client'), command),
        server,
        modelRepository,
        model: 'm',
        budgetMs: 50,
        settings: {
          run_config_search_mode: 'quick',
          perf_analyzer_flags: {
            'measurement-mode': 'time_windows',
            'measurement-interval': 250,
            'stability-percentage': 100_000,
          },
        },
      });
      // It has loaded variants of its own and measured them, batches of other sizes than the model
      // had among them.
      expect(new Set(rows.map((row) => row['Model Config Path'])).size).toBeGreaterThan(2);
      expect(new Set(rows.map((row) => row['Max Batch Size'])).size).toBeGreaterThan(1);
      for (const row of rows) expect(Number(row['Throughput (infer/sec)'])).toBeGreaterThan(0);
    } finally {
      await server.stop();
    }
  }, 180_000);
});

type RowOfFigures = { readonly [column: string]: number | string };

function rowsOf(csv: string): RowOfFigures[] {
  const [header = '', ...lines] = csv.trim().split('\n');
  const names = header.split(',');
  const value = (text = ''): number | string => (text !== '' && !Number.isNaN(Number(text)) ? Number(text) : text);
  return lines.map((line) =>
    Object.fromEntries(line.split(',').map((text, index) => [names[index] ?? '', value(text)])),
  );
}
