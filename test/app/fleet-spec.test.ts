import { describe, expect, it } from 'vitest';
import { checkFleetSpec, onServer } from '#app/fleet/fleet-spec.ts';
import { toSpec } from '#spec/spec-of-options.ts';

const study = (more: object = {}) => toSpec({ model: 'm', ...more });
const own = { server: toSpec({ model: '-', url: 'gpu1:8001' }).server, agents: {} };

describe('a study over a group of servers', () => {
  it('has each server with what its worker knows of it', () => {
    const agents = { agents: ['load1:7411'], agentTokenFile: 'token' };
    const spec = onServer(study({ restore: 'reload', clientThreads: 2 }), { ...own, agents });
    expect(spec.server).toMatchObject({ url: 'gpu1:8001', restore: 'reload' });
    expect(spec.traffic).toMatchObject({ clientThreads: 2, ...agents });
    // A worker that was started again without agents sends itself.
    expect(onServer(spec, own).traffic).not.toHaveProperty('agents');
  });

  it('leaves protected what the worker or the study protects', () => {
    const { server } = onServer(study({ protect: ['b'] }), {
      ...own,
      server: { ...own.server, protect: ['a'] },
    });
    expect(server.protect).toEqual(['a', 'b']);
  });

  it.each([
    [{ agents: ['a:1'] }, '--agents', /fleet worker --agents/],
    [{ url: 'gpu1:8001' }, '--url', /fleet worker --server/],
    [{ tokenFile: 'token' }, '--token-file', /fleet worker --server/],
    [{ tlsCa: 'ca.pem' }, '--tls-ca', /fleet worker --server/],
    [{ trace: true }, '--trace', /on one server/],
    [{ prior: ['runs/a'] }, '--prior', /do not have/],
    [{ adapter: 'a.ts' }, '--adapter', /without --temporal/],
    [{ launch: 'emulator' }, '--launch', /fleet worker --server/],
    [{ accuracyCommand: ['python top1.py', 'top1>=1'] }, '--accuracy-command', /no commands/],
  ])('is refused with %j, and says what to do', (options, name, hint) => {
    const refusal = expect.objectContaining({
      code: 'USAGE',
      message: `${name} cannot be used with --temporal`,
      hint: expect.stringMatching(hint),
    });
    expect(() => checkFleetSpec(study(options))).toThrow(refusal);
  });

  it('is refused for a server that is no Triton', () => {
    expect(() => checkFleetSpec(study({ endpoint: 'openai' }))).toThrow(/^fleet cannot be combined with OpenAI, /);
  });

  it.each([{ workload: ['w.yaml'] }, { endpoint: 'triton-grpc' }, { clientThreads: 4 }])('may have %j', (options) => {
    expect(() => checkFleetSpec(study(options))).not.toThrow();
  });
});
