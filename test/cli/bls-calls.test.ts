import { describe, expect, it } from 'vitest';
import { findCallers } from '#app/target/triton/callers-of.ts';
import { directCalls } from '#app/target/triton/direct-calls.ts';
import { type EmulatorProfile, emulatorSchema } from '#emulator/profile/schema.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { runHere } from '../faults/own-stage.ts';
import { blsCallsSuite } from '../support/bls-calls-suite.ts';
import { emulatorForTest, everyKindProfile } from '../support/emulator.ts';
import { othersSend } from '../support/other-sender.ts';

/**
 * `outer` calls `inner` and `second`, `inner` calls `m` twice; `wrapped` is an ensemble of `first`
 * and `inner`.
 */
function callingProfile(): EmulatorProfile {
  const { models, ensembles = [], ...profile } = everyKindProfile();
  const [m] = models;
  const [chain] = ensembles;
  const named = (name: string, ...stages: object[][]) => ({
    ...m,
    config: { ...m?.config, name },
    ...(stages.length > 0 && { bls: { requests: 'in-turn', stages } }),
  });
  const step = (model_name: string, input: string, output: string) => ({
    model_name,
    model_version: -1,
    input_map: { IN: input },
    output_map: { OUT: output },
  });
  const steps = [step('first', 'IN', 'x'), step('inner', 'x', 'OUT')];
  return emulatorSchema.parse({
    ...profile,
    models: [
      ...models,
      named('first'),
      named('inner', [{ model: 'm' }], [{ model: 'm' }]),
      named('outer', [{ model: 'inner' }, { model: 'second' }]),
    ],
    ensembles: [...ensembles, { config: { ...chain?.config, name: 'wrapped', ensemble_scheduling: { step: steps } } }],
  });
}

const rates = (of: Record<string, number>) => new Map(Object.entries(of));

describe('calls', () => {
  it('are those that nothing else explains', () => {
    const behind = (model: string) => rates(model === 'a' ? { b: 2, c: 2 } : model === 'b' ? { c: 1 } : {});
    expect(directCalls(rates({ c: 2, b: 2, a: 1 }), behind)).toEqual(rates({ a: 1 }));
    expect(directCalls(rates({ c: 3, b: 2, a: 1 }), behind)).toEqual(rates({ a: 1, c: 1 }));
    expect(directCalls(rates({ x: 3 }), behind)).toEqual(rates({ x: 3 }));
  });

  const ensemble = (...models: string[]) => ({
    platform: 'ensemble',
    ensemble_scheduling: { step: models.map((model_name) => ({ model_name })) },
  });
  const configs = { e: ensemble('p', 'q'), p: { backend: 'python' }, q: { backend: 'python' }, x: {}, y: {} };
  const isPython = ({ backend }: { backend?: string }) => backend === 'python';
  const found = { front: 'e', rates: rates({ p: 1, q: 1, x: 2 }), traced: new Map(), configs };

  it('behind an ensemble are those of the step that makes them', async () => {
    const ask = async (model: string) => rates(model === 'q' ? { x: 2 } : {});
    expect(await findCallers(found, isPython, ask)).toEqual({ calls: new Map([['q', ['x']]]), uncalled: [] });
    const onlyQ = { ...configs, p: {} };
    const silent = await findCallers({ ...found, configs: onlyQ }, isPython, async () => null);
    expect(silent).toEqual({ calls: new Map([['q', ['x']]]), uncalled: [] });
    expect(await findCallers(found, isPython, async () => null)).toEqual({ calls: new Map(), uncalled: ['x'] });
  });

  it('are as traces say, without another request; what traces lack is asked for', async () => {
    const traced = new Map([
      ['e', new Set(['p', 'q'])],
      ['p', new Set(['x'])],
    ]);
    const nobody = () => Promise.reject(new Error('it was asked'));
    expect(await findCallers({ ...found, traced }, isPython, nobody)).toEqual({
      calls: new Map([['p', ['x']]]),
      uncalled: [],
    });
    const more = { ...found, traced, rates: rates({ p: 1, q: 1, x: 2, y: 1 }) };
    const ask = async (model: string) => rates(model === 'q' ? { y: 1 } : { x: 2 });
    expect((await findCallers(more, isPython, ask)).calls).toEqual(
      new Map([
        ['p', ['x']],
        ['q', ['y']],
      ]),
    );
  });
});

describe('the calls of BLS models', { timeout: 180_000 }, () => {
  const start = async () => {
    const emulator = await emulatorForTest({ profile: callingProfile() });
    return { url: emulator.grpcUrl, client: connectGrpc(emulator.grpcUrl) };
  };
  const linesOf = async (url: string, ...asked: string[]) => {
    const { code, stdout } = await runHere(['tune', '-u', url, '--dry-run', ...asked]);
    expect(code, stdout).toBe(0);
    return stdout.split('\n').filter((line) => /bls-composing/.test(line));
  };
  const FROM = '(found from the statistics of 5 requests); --bls-composing names them by hand';

  blsCallsSuite(async () => ({ ...(await start()), front: 'inner', called: ['m'], from: 'the statistics' }));

  it('are told apart at any depth, and behind the step of an ensemble', async () => {
    const { url } = await start();
    expect(await linesOf(url, '-m', 'outer')).toEqual([
      `outer calls second and inner ${FROM}`,
      `inner calls m ${FROM}`,
    ]);
    expect(await linesOf(url, '-m', 'wrapped')).toEqual([`inner calls m ${FROM}`]);
    for (const none of ['m', 'chain']) expect(await linesOf(url, '-m', none)).toEqual([]);
    expect(await linesOf(url, '--together', 'inner,second')).toEqual([`inner calls m ${FROM}`]);
  });

  it('are not guessed while somebody else uses the same models', async () => {
    const { url } = await start();
    await othersSend('grpc', url, 'm', 7);
    expect(await linesOf(url, '-m', 'inner')).toEqual([
      'whether inner calls m is not clear: --bls-composing names those that it calls, or none',
    ]);
  });

  it('of protected models are left alone', async () => {
    const { url } = await start();
    expect(await linesOf(url, '-m', 'outer', '--protect', 'second')).toEqual([
      `outer calls inner ${FROM}`,
      `inner calls m ${FROM}`,
    ]);
  });
});
