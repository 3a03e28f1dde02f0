import { describe, expect, it } from 'vitest';
import { type AgentLimits, allowedTargets, checkTarget } from '#loadgen/agents/limits.ts';
import { AgentUsage } from '#loadgen/agents/usage.ts';
import type { WorkerTransport } from '#loadgen/workers/messages.ts';

const limits: AgentLimits = { targets: null, threads: 3, requestsPerSecond: 100, connections: 10, memoryBytes: 1000 };
const to = (url: string): WorkerTransport => ({ protocol: 'grpc', options: { url, timeoutMs: 1 } });
const isAllowed = (texts: readonly string[], url: string): boolean => {
  try {
    checkTarget(to(url), { ...limits, targets: allowedTargets(texts) });
    return true;
  } catch (error) {
    expect(error).toMatchObject({ code: 'USAGE', hint: expect.stringContaining('--allow-target') });
    return false;
  }
};

describe('the servers that an agent may send to', () => {
  it.each([
    [['triton:8001'], 'triton:8001', true],
    [['Triton:8001'], 'tRITON:8001', true],
    [['triton:8001'], 'triton:8000', false],
    [['triton'], 'triton:8000', true],
    [['triton'], 'triton.evil:8000', false],
    [['triton', '10.0.0.1:80'], '10.0.0.1:80', true],
    [['10.0.0.1'], '10.0.0.11:80', false],
    [['[::1]:8001'], '[::1]:8001', true],
    [['::1'], '[::1]:9', true],
    [['[::1]:8001'], '[::1]:8002', false],
    [['*'], 'anything:1', true],
  ])('%j: %s is %s', (texts, url, expected) => {
    expect(isAllowed(texts, url)).toBe(expected);
  });

  it('are checked by the address that is connected to, whatever else the controller says', () => {
    const targets = allowedTargets(['a']);
    const lie = { url: 'a:1', address: 'b:1', timeoutMs: 1 };
    for (const protocol of ['language', 'plain-http'] as const) {
      const transport = { protocol, options: lie, request: {}, secrets: [] } as never;
      expect(() => checkTarget(transport, { ...limits, targets })).toThrow(/may not send to b:1/);
    }
  });

  it('are checked by the address of each kind of traffic', () => {
    const targets = allowedTargets(['a:1']);
    const language = { protocol: 'language', options: { address: 'b:1' } } as unknown as WorkerTransport;
    const http = { protocol: 'plain-http', options: { address: 'b:1' } } as unknown as WorkerTransport;
    for (const transport of [language, http]) {
      expect(() => checkTarget(transport, { ...limits, targets })).toThrow(/may not send to b:1/);
    }
  });
});

describe('what an agent gives', () => {
  it('is counted over all connections, and given back', () => {
    const usage = new AgentUsage(limits, 0);
    const [one, other] = [{}, {}];
    usage.addThreads(one, 2);
    expect(() => usage.addThreads(other, 2)).toThrow(/at most 3 threads, and 4 were requested/);
    usage.addBytes(one, 600);
    expect(() => usage.addBytes(other, 600)).toThrow(/more than its limit of 1 MiB/);
    usage.planRate(one, 'a', 60);
    expect(() => usage.planRate(other, 'b', 60)).toThrow(/at most 100 requests per second, and 120 were requested/);
    usage.leave(one);
    usage.leave(other);
    usage.addThreads(other, 3);
    usage.addBytes(other, 1000);
    usage.planRate(other, 'b', 100);
    usage.planRate(other, 'b', 0);
    usage.planRate(one, 'a', 100);
  });
});
