import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { profileOptionTable } from '#cli/commands/profile/any-service.ts';
import type { ProfileOptions } from '#cli/commands/profile/options.ts';
import { addRefusedOptions, withoutAliases } from '#cli/commands/profile/perf-analyzer-aliases.ts';
import { refusedFlags } from '#cli/commands/profile/perf-analyzer-options.ts';
import { addOptions } from '#cli/options/option-table.ts';

/** What the words of a command line mean. */
function parsed(...args: string[]): ProfileOptions {
  const command = addOptions(
    new Command().exitOverride().configureOutput({ writeErr: () => undefined }),
    profileOptionTable,
  );
  const { refuse } = addRefusedOptions(command);
  command.parse(args, { from: 'user' });
  refuse();
  return withoutAliases({
    ...command.opts<ProfileOptions>(),
    protocol: command.opts<ProfileOptions>().protocol ?? 'http',
  });
}

describe("perf_analyzer's other spellings", () => {
  it.each([
    [['-t', '2', '-c', '8'], { concurrencyRange: { start: 2, end: 8, step: 1 } }],
    [['-t', '4'], { concurrencyRange: { start: 4, end: 4, step: 1 } }],
    [['-d', '-l', '5'], { concurrencyRange: { start: 1, end: 0, step: 1 }, latencyThreshold: 5 }],
    [['--concurrency-range', '4'], { concurrencyRange: { start: 4, end: 4, step: 1 } }],
    [['--concurrency-range=2:0:3'], { concurrencyRange: { start: 2, end: 0, step: 3 } }],
    [['--request-rate-range', '10.5:21:0.5'], { requestRateRange: { start: 10.5, end: 21, step: 0.5 } }],
    [['-z'], { inputData: ['zero'] }],
    [['-b', '4'], { batch: 4 }],
    [['--batch-size', '4'], { batch: 4 }],
    [['--batch-size=4'], { batch: 4 }],
    [['--data-directory', 'd'], { inputData: ['d'] }],
    [['--sequence-id-range', '5:9'], { sequenceIds: { low: 5, high: 9 } }],
    [['--sequence-id-range', '5'], { sequenceIds: { low: 5, high: 2 ** 32 - 1 } }],
    [['-i', 'gRPC', '--grpc-compression-algorithm', 'gzip'], { protocol: 'grpc', compression: 'gzip' }],
    [['--grpc-compression-algorithm', 'gzip'], { protocol: 'http', compression: 'none' }],
    [['--input-tensor-format', 'json'], { tensorFormat: 'json' }],
    [['-i', 'grpc', '--ssl-grpc-use-ssl', '--ssl-grpc-root-certifications-file', 'ca'], { tls: true, tlsCa: 'ca' }],
    [['--ssl-https-verify-peer', '0', '--ssl-https-private-key-file', 'k'], { tlsInsecure: true, tlsKey: 'k' }],
    [['--percentile=-1'], { percentile: -1 }],
    [['--percentile', '99.9'], { percentile: 99.9 }],
    [['--ramp', '10:200:30'], { ramp: { fromPerSecond: 10, toPerSecond: 200, overS: 30 } }],
    [['--periodic-burst', '50:200'], { periodicBurst: { size: 50, periodMs: 200 } }],
  ])('%j', (args, meaning) => {
    expect(parsed(...args)).toMatchObject(meaning);
  });

  it('verify who serves unless told not to', () => {
    expect(parsed('--ssl-https-verify-peer', '1', '--ssl-https-verify-host', '2').tlsInsecure).toBeUndefined();
  });

  it.each([
    [['-t', '2', '--concurrency-range', '4'], /cannot be used with --concurrency-range/],
    [['-z', '--input-data', 'random'], /and --input-data cannot be used/],
    [['--input-tensor-format', 'json', '--output-tensor-format', 'binary'], /the same format/],
    [['--concurrency-range', '1:2:3:4'], /not a range of load levels/],
    [['--concurrency-range', '8:2'], /ends before it begins/],
    [['-b', '1,4'], /more than one number.*--batch-sizes/],
    [['--concurrency-range', '1.5'], /not a whole number/],
    [['--request-rate-range', '-1'], /not a positive number/],
    [['--ramp', '0:0:5'], /not a ramp/],
    [['--periodic-burst', '0:5'], /not a burst/],
    [['--percentile', '0.5'], /not a percentile/],
    [['-i', 'quic'], /no protocol/],
  ])('refuses %j', (args, words) => {
    expect(() => parsed(...args)).toThrow(words);
  });

  it.each(refusedFlags.map(({ flags }) => flags))('says why it has no %s', (flags) => {
    const [name, value] = flags.split(' ') as [string, string | undefined];
    expect(() => parsed(name, ...(value === undefined ? [] : ['1']))).toThrow(/is not supported: /);
  });
});
