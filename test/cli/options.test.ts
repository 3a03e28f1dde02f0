import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { safeName } from '#app/run-directory.ts';
import { serverAddress } from '#app/server/address-text.ts';
import { resolveAddresses } from '#app/server/addresses.ts';
import { TrituneError } from '#base/errors.ts';
import { tuneOptionTable } from '#cli/commands/tune/options.ts';
import { toFailure } from '#cli/failure.ts';
import { addOptions } from '#cli/options/option-table.ts';
import {
  durationSeconds,
  latencyMs,
  percentile,
  positiveNumber,
  positiveRange,
  wholeRange,
} from '#cli/options/option-values.ts';
import type { AddressSpec } from '#spec/server-spec.ts';
import type { FlatStudyOptions } from '#spec/tune-options.ts';
import { callCli } from '../support/call-cli.ts';

const parseTune = (...args: string[]): FlatStudyOptions => {
  const command = addOptions(new Command(), tuneOptionTable)
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  return command.parse(args, { from: 'user' }).opts();
};

describe('a fault of the command line', () => {
  it.each([
    [
      ['emulate', 'demo'],
      "too many arguments for 'emulate'. Expected 0 arguments but got 1 (--help lists the options)",
    ],
    [['tune', '--latencybudget', '8'], "unknown option '--latencybudget' (Did you mean --latency-budget?)"],
    [['tun'], "unknown command 'tun' (Did you mean tune?)"],
    [['compare', 'a'], "missing required argument 'run' (--help lists the options)"],
    [['tune', '--sampler', 'best'], /^--sampler: there is no sampler 'best' \(use queueing, /],
    [['tune', '--restore', 'best'], /^--restore: 'best' is not a choice\. Allowed choices are .*[^.] \(--help/],
    [['config', '--instances', 'x'], /^--instances: 'x' is not a number of instances \(write gpu=2/],
  ])('is told as every other error is: %j', async (args, words) => {
    const { code, stderr } = await callCli(args);
    expect(code).toBe(2);
    const [, what] = /^tritune: USAGE: ([^\n]+)\n$/.exec(stderr) ?? [];
    expect(what).toEqual(typeof words === 'string' ? words : expect.stringMatching(words));
  });
});

describe('the options of tune', () => {
  it('are parsed to typed values', () => {
    const options = parseTune(
      '-m',
      'mlp',
      '--latency-budget',
      '0.75',
      '--percentile',
      '95',
      '--time-budget',
      '10m',
      '--concurrency',
      '2:64',
      '--constraint',
      'a<=1',
      '--constraint',
      'b<=2',
    );
    expect(options).toMatchObject({
      model: 'mlp',
      latencyBudget: 0.75,
      percentile: 95,
      timeBudget: 600,
      concurrency: { low: 2, high: 64 },
      constraint: ['a<=1', 'b<=2'],
    });
  });

  it.each([
    ['--latency-budget', '-8'],
    ['--latency-budget', 'eight'],
    ['--percentile', '100'],
    ['--time-budget', '0s'],
    ['--concurrency', '8:2'],
    ['--concurrency', '1:2:3'],
    ['--seed', '1.5'],
    ['--sampler', 'magic'],
    ['--ui', 'hologram'],
  ])('refuse %s %s', (flag, value) => {
    expect(() => parseTune(flag, value)).toThrow();
  });
});

describe('option values', () => {
  it.each([
    ['90s', 90],
    ['10m', 600],
    ['1.5h', 5400],
    ['500ms', 0.5],
    ['30', 30],
  ])('reads the duration %s', (text, seconds) => {
    expect(durationSeconds(text)).toBe(seconds);
  });

  it.each([
    ['8', 8],
    ['8ms', 8],
    ['0.5 s', 500],
    ['500us', 0.5],
  ])('a latency of %j is %d ms', (text, ms) => {
    expect(latencyMs(text)).toBe(ms);
  });

  it.each(['', 'ms', '0', '-8ms', '8m', '8 ms 3', 'Infinity', '0x', '8msms'])('%j is no latency', (text) => {
    expect(() => latencyMs(text)).toThrow(TrituneError);
  });

  it('reads ranges, percentiles and numbers', () => {
    expect(wholeRange('7')).toEqual({ low: 7, high: 7 });
    expect(positiveRange('0.5:20.25')).toEqual({ low: 0.5, high: 20.25 });
    expect(percentile('p99.9')).toBe(99.9);
    expect(positiveNumber('0.05')).toBe(0.05);
  });

  it.each([
    ['gpu-box', 'gpu-box:8001'],
    ['gpu-box:9001', 'gpu-box:9001'],
    ['http://10.0.0.7:80/', '10.0.0.7:80'],
    ['[::1]:8001', '[::1]:8001'],
    ['https://triton.example.com', 'triton.example.com:443'],
    ['https://gpu-box:8000', 'gpu-box:8000'],
    ['grpcs://gpu-box', 'gpu-box:8001'],
  ])('reads the address %s', (text, address) => {
    expect(serverAddress(text, 'grpc')).toBe(address);
  });

  it.each(['a b', 'host:port', 'host:99999', 'host:0', '', 'host:1/path'])('refuses the address %j', (text) => {
    expect(() => serverAddress(text, 'grpc')).toThrow(TrituneError);
  });

  it.each([
    ['http://gateway/triton/', 'gateway:8000/triton'],
    ['gateway:80/team-a/triton/v2', 'gateway:80/team-a/triton'],
    ['http://gpu-box:8000/v2', 'gpu-box:8000'],
    ['https://[::1]/triton', '[::1]:443/triton'],
  ])('reads the path of a gateway over HTTP: %s', (text, address) => {
    expect(serverAddress(text, 'http')).toBe(address);
  });

  it.each(['host:1/a b', 'host:1/a?b', 'user:word@host/path'])('refuses the address %j over HTTP', (text) => {
    expect(() => serverAddress(text, 'http')).toThrow(TrituneError);
  });
});

describe('addresses', () => {
  const tls = { verify: true };

  it('puts traffic and control on the same port for gRPC', () => {
    expect(resolveAddresses({ protocol: 'grpc', url: 'gpu:9001' }, tls)).toMatchObject({
      url: 'gpu:9001',
      control: { url: 'gpu:9001', isGuess: false },
      metricsUrl: 'http://gpu:8002/metrics',
    });
  });

  it('guesses the control port only beside the usual HTTP port', () => {
    expect(resolveAddresses({ protocol: 'http' }, tls).control).toEqual({ url: 'localhost:8001', isGuess: true });
    expect(resolveAddresses({ protocol: 'http', url: 'gpu:5000' }, tls).control).toBeNull();
    expect(resolveAddresses({ protocol: 'http', url: 'gpu:5000', controlUrl: 'gpu' }, tls).control?.url).toBe(
      'gpu:8001',
    );
  });
});

describe('TLS in addresses', () => {
  const tls = { verify: true };
  const where = (options: AddressSpec): unknown[] => {
    const { tls: traffic, control } = resolveAddresses(options, tls);
    return [traffic === tls, control?.tls === tls];
  };

  it.each([
    [{ protocol: 'grpc', url: 'gpu' }, [false, false]],
    [{ protocol: 'grpc', url: 'gpu', tls: true }, [true, true]],
    [{ protocol: 'grpc', url: 'grpcs://gpu:9001' }, [true, true]],
    [{ protocol: 'http', url: 'https://gpu:443' }, [true, false]],
    [{ protocol: 'http', url: 'https://gpu:443', controlUrl: 'gpu' }, [true, true]],
    [{ protocol: 'http', url: 'https://gpu:443', controlUrl: 'grpc://gpu' }, [true, false]],
    [{ protocol: 'http', url: 'gpu', controlUrl: 'grpcs://gpu' }, [false, true]],
    [{ protocol: 'grpc', url: 'gpu', tlsCa: 'ca.pem' }, [true, true]],
  ] as [AddressSpec, boolean[]][])('understands %j', (options, expected) => {
    expect(where(options)).toEqual(expected);
  });

  it('refuses TLS options for an address that says that there is none', () => {
    expect(() => where({ protocol: 'http', url: 'http://gpu', tlsInsecure: true })).toThrow(TrituneError);
  });
});

describe('failures', () => {
  it('are one line with a code, what happened and what to do', () => {
    const failure = toFailure(new TrituneError('MODEL_UNKNOWN', "no model\n 'x'", 'ask for another'), false);
    expect(failure).toEqual({ line: "tritune: MODEL_UNKNOWN: no model 'x' (ask for another)", exitCode: 2 });
  });

  it('show a stack only with verbose', () => {
    const error = new Error('odd');
    expect(toFailure(error, false)).toMatchObject({ exitCode: 1, line: expect.not.stringContaining('at ') });
    expect(toFailure(error, true).line).toContain(import.meta.filename);
  });
});

describe('safeName', () => {
  it.each([
    ['mlp', 'mlp'],
    ['../../etc/passwd', '__.._etc_passwd'],
    ['a/b\\c:d', 'a_b_c_d'],
    ['..', '_'],
    ['', '_'],
  ])('makes %j one path segment', (model, name) => {
    expect(safeName(model)).toBe(name);
  });
});
