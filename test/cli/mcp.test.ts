import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CallToolResult, Client, type Progress } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, it, onTestFinished } from 'vitest';
import { explanationSchema } from '#explain/explanation.ts';
import { connectHttp } from '#triton/control/connect.ts';
import { aCapacity } from '../capacity/documents.ts';
import { cliProgram } from '../support/cli-program.ts';
import { emulatorForTest, smallProfile } from '../support/emulator.ts';
import { othersSend } from '../support/other-sender.ts';
import { recordGrpc } from '../support/recording-proxy.ts';

const scratch = (): string => mkdtempSync(join(tmpdir(), 'tritune-mcp-test-'));

/** An agent, with a server of tools that was started with these options. */
async function connectAgent(args: readonly string[], folder = scratch()): Promise<Client> {
  const agent = new Client({ name: 'test', version: '1' });
  const command = { command: process.execPath, args: [cliProgram('main'), 'mcp', ...args], cwd: folder };
  await agent.connect(
    new StdioClientTransport({ ...command, env: process.env as Record<string, string>, stderr: 'ignore' }),
  );
  onTestFinished(() => agent.close());
  return agent;
}

const textIn = ({ content }: CallToolResult): string =>
  content.map((each) => ('text' in each ? each.text : '')).join('\n');

const named = async (agent: Client): Promise<readonly string[]> =>
  (await agent.listTools()).tools.map(({ name }) => name);

describe('tritune mcp', () => {
  it('offers what reads, and more only where a person allows it', async () => {
    const agent = await connectAgent(['-u', 'localhost:1']);
    expect(await named(agent)).toEqual(['explain', 'compare']);
    expect(agent.getInstructions()).toContain(
      'The tool tune is not offered: a person must start this with --allow-changes.',
    );
    const refused = await agent.callTool({ name: 'tune', arguments: { model: 'm', latencyBudgetMs: 5 } }).catch(String);
    expect(JSON.stringify(refused)).toMatch(/not found|unknown/i);
    expect(await named(await connectAgent(['-u', 'localhost:1', '--allow-load']))).toContain('profile');
    const all = (await (await connectAgent(['-u', 'localhost:1', '--allow-changes'])).listTools()).tools;
    expect(all.map(({ name }) => name)).toEqual(['explain', 'compare', 'plan', 'profile', 'tune']);
    expect(all.filter(({ annotations }) => annotations?.readOnlyHint === false).map(({ name }) => name)).toEqual([
      'tune',
    ]);
  });

  it('explains a server with figures and intervals, and nothing but reads', async () => {
    const emulator = await emulatorForTest({ profile: smallProfile() });
    const proxy = await recordGrpc(emulator.grpcUrl);
    onTestFinished(() => proxy.close());
    await othersSend('grpc', emulator.grpcUrl, 'm', 5);
    const agent = await connectAgent(['-u', proxy.url, '-i', 'grpc']);
    const result = await agent.callTool({ name: 'explain', arguments: { seconds: 2, latencyBudgetMs: 50 } });
    expect(textIn(result)).toMatch(/^m: [\d.]+ requests\/s in [\d.]+ s/m);
    // The file is gone by then.
    expect(textIn(result)).not.toContain('wrote');
    const { models } = explanationSchema.parse(result.structuredContent);
    expect(models[0]?.present?.ceiling).toMatchObject({ low: expect.any(Number), high: expect.any(Number) });
    expect(proxy.requests).toEqual([]);
    expect(proxy.calls.filter((call) => /Load|Unload|ModelInfer|Setting|Register/.test(call))).toEqual([]);
  });

  it('says what is wrong, as the command line does', async () => {
    const agent = await connectAgent(['-u', '127.0.0.1:1', '-i', 'grpc']);
    const lost = await agent.callTool({ name: 'explain', arguments: { seconds: 2 } });
    expect(lost.isError).toBe(true);
    expect(textIn(lost)).toContain('SERVER_UNREACHABLE');
    const wrong = await agent.callTool({ name: 'explain', arguments: { seconds: 'long' } });
    expect(wrong.isError).toBe(true);
    expect(textIn(wrong)).toContain('seconds');
  });

  it('compares runs below its directory, and no other file', async () => {
    const folder = scratch();
    writeFileSync(join(folder, 'a.json'), JSON.stringify(aCapacity()));
    writeFileSync(join(folder, 'b.json'), JSON.stringify(aCapacity({ capacity: { value: 500, low: 490, high: 510 } })));
    const agent = await connectAgent([], folder);
    const worse = await agent.callTool({ name: 'compare', arguments: { baseline: 'a.json', run: 'b.json' } });
    expect(worse.isError).toBeUndefined();
    expect(worse.structuredContent).toMatchObject({ verdict: 'regression' });
    const outside = await agent.callTool({ name: 'compare', arguments: { baseline: '/etc/passwd', run: 'b.json' } });
    expect(outside.isError).toBe(true);
    expect(textIn(outside)).toContain('outside of the directory');
  });

  it('takes no option for a name', async () => {
    const agent = await connectAgent(['-u', '127.0.0.1:1', '-i', 'grpc', '--allow-load']);
    const result = await agent.callTool({
      name: 'plan',
      arguments: { model: '--launch=emulator', latencyBudgetMs: 5 },
    });
    expect(textIn(result)).toContain('SERVER_UNREACHABLE');
  });

  it('plans, profiles, and tells how far it is', async () => {
    const emulator = await emulatorForTest({ profile: smallProfile() });
    const agent = await connectAgent(['-u', emulator.grpcUrl, '-i', 'grpc', '--allow-load']);
    const plan = await agent.callTool({ name: 'plan', arguments: { model: 'm', latencyBudgetMs: 50 } });
    expect(textIn(plan)).toContain('max_batch_size');
    const told: Progress[] = [];
    const result = await agent.callTool(
      { name: 'profile', arguments: { model: 'm', concurrency: { low: 1, high: 1 } } },
      { onprogress: (progress) => told.push(progress), timeout: 120_000 },
    );
    expect(textIn(result)).toMatch(/infer\/s/);
    expect(told.length).toBeGreaterThan(0);
    expect(told.every(({ progress }, index) => progress >= (told[index - 1]?.progress ?? 0))).toBe(true);
    expect(JSON.stringify(result.structuredContent)).toContain('"low"');
  });

  it.each(['cancels', 'goes away'])('puts the model back when the agent %s while it tunes', async (way) => {
    const emulator = await emulatorForTest({ profile: smallProfile({ config: { max_batch_size: 4 } }) });
    const control = connectHttp(emulator.httpUrl);
    onTestFinished(() => control.close());
    const before = await control.modelConfig('m');
    const folder = scratch();
    const agent = await connectAgent(['-u', emulator.grpcUrl, '-i', 'grpc', '--allow-changes'], folder);
    const canceller = new AbortController();
    const isChanged = Promise.withResolvers<void>();
    const tuning = agent.callTool(
      { name: 'tune', arguments: { model: 'm', latencyBudgetMs: 50, concurrency: { low: 1, high: 8 } } },
      {
        signal: canceller.signal,
        timeout: 300_000,
        onprogress: ({ message = '' }) => {
          if (/^trial 2|#2\b/.test(message)) isChanged.resolve();
        },
      },
    );
    const ended = tuning.catch((error: unknown) => error);
    await isChanged.promise;
    const second = await agent.callTool({ name: 'profile', arguments: { model: 'm' } });
    expect(textIn(second)).toContain('another run sends load');
    if (way === 'cancels') canceller.abort();
    else await agent.close();
    await ended;
    await expect.poll(() => control.modelConfig('m'), { timeout: 60_000 }).toEqual(before);
    expect(readdirSync(join(folder, 'tritune-runs'))[0]).toMatch(/^mcp-tune-/);
  });
});
