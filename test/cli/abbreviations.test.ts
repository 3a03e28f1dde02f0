import { CommanderError } from 'commander';
import { describe, expect, it } from 'vitest';
import { AbbreviatingCommand } from '#cli/commands/profile/abbreviations.ts';
import { profileOptionTable } from '#cli/commands/profile/any-service.ts';
import { plainHttpOptionTable } from '#cli/commands/profile/http-options.ts';
import type { ProfileOptions } from '#cli/commands/profile/options.ts';
import { addRefusedOptions } from '#cli/commands/profile/perf-analyzer-aliases.ts';
import { addOptions } from '#cli/options/option-table.ts';

function parsed(...args: string[]): ProfileOptions {
  const command = new AbbreviatingCommand()
    .exitOverride()
    .configureOutput({ writeErr: () => undefined })
    .option('--version', 'the version');
  addRefusedOptions(command);
  addOptions(command, { ...profileOptionTable, ...plainHttpOptionTable });
  return command.parse(args, { from: 'user' }).opts();
}

function faultOf(...args: string[]): string {
  try {
    parsed(...args);
  } catch (error) {
    if (error instanceof CommanderError) return error.message;
    throw error;
  }
  return '';
}

// What perf_analyzer 2.59 makes of the same words.
describe('abbreviations of options', () => {
  it.each([
    [['--concurrency=10'], { concurrencyRange: { start: 10, end: 10, step: 1 } }],
    [['--concurrency', '2:8:2'], { concurrencyRange: { start: 2, end: 8, step: 2 } }],
    [['--conc=10'], { concurrencyRange: { start: 10, end: 10, step: 1 } }],
    [['--percent=95'], { percentile: 95 }],
    [['--measurement-i=3000'], { measurementInterval: 3000 }],
    [['--request-rate=10'], { requestRateRange: { start: 10, end: 10, step: 1 } }],
    [['--latency', '2'], { latencyThreshold: 2 }],
    [['--collect'], { collectMetrics: true }],
    [['--verb'], { verboseCsv: true }],
    [['--warm=3', '--sync'], { warmupRequestCount: 3, sync: true }],
    [['--verbose'], { verbose: true }],
  ])('%j are what they are to perf_analyzer', (args, meaning) => {
    expect(parsed(...args)).toMatchObject(meaning);
  });

  it.each([
    ['--measurement=3', ['--measurement-interval', '--measurement-mode', '--measurement-request-count']],
    ['--request=10', ['--request-rate-range', '--request-count']],
    ['--c=3', ['--concurrency-range', '--collect-metrics']],
    ['--ver', ['--verbose-csv', '--version']],
    ['--sh=a:1', ['--shape', '--shared-memory']],
    ['--trace=OFF', ['--trace-level', '--trace-rate', '--trace-count']],
    ['--ser=1', ['--service-kind', '--serial-sequences']],
  ])('%s is refused with the candidates, as there', (arg, candidates) => {
    const fault = faultOf(arg);
    expect(fault).toContain('is ambiguous');
    for (const candidate of candidates) expect(fault).toContain(candidate);
  });

  it.each(['--max_threads=4', '--concurrency_range=10', '--sync=1', '--foo=1'])('%s is unknown, as there', (arg) => {
    expect(faultOf(arg)).toContain('unknown option');
  });

  it('reach options that only this has, where perf_analyzer has none', () => {
    expect(parsed('--model-v', '3')).toMatchObject({ modelVersion: '3' });
    expect(parsed('--basic=a:b')).toMatchObject({ basicAuth: 'a:b' });
  });

  it('leave values alone', () => {
    expect(parsed('-m', '--conc', '--string-data', '--conc=3')).toMatchObject({
      model: '--conc',
      stringData: '--conc=3',
    });
    expect(faultOf('-m', '--conc', '--re=hush')).not.toContain('hush');
  });
});
