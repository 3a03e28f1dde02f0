import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CallToolResult, McpServer, type ServerContext } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { exitCodes } from '#app/exit-codes.ts';
import { formatMessage } from '#base/errors.ts';
import { inertLine } from '#base/format.ts';
import type { JsonObject } from '#base/json.ts';
import { makeFolder } from '#base/make-folder.ts';
import { entryPath, trituneVersion } from '#base/package.ts';
import { fileLimits, readText } from '#base/read-file.ts';
import { runProgram } from '#launch/run-program.ts';
import { listenForInterrupts } from '../interrupts.ts';
import type { Terminal } from '../terminal.ts';
import type { McpOptions } from './mcp-options.ts';
import { type Tool, type ToolEffect, tools } from './mcp-tools.ts';

/** Documents that would fill an agent's context are left in their file. */
const MAX_DOCUMENT_LETTERS = 100_000;
/** Lines that a result keeps, from its end. */
const MAX_LINES = 400;

/**
 * Serves the tools until the agent closes the connection or a signal comes, then ends the runs in
 * order. Returns the exit code.
 */
export async function runMcp(reach: readonly string[], options: McpOptions, terminal: Terminal): Promise<number> {
  const allowed = new Set<ToolEffect>([
    'reads',
    ...((options.allowLoad ?? options.allowChanges) ? (['sends-load'] as const) : []),
    ...(options.allowChanges ? (['changes-models'] as const) : []),
  ]);
  const offered = tools.filter(({ effect }) => allowed.has(effect));
  const withheld = tools.filter(({ effect }) => !allowed.has(effect));
  const server = new McpServer(
    { name: 'tritune', version: trituneVersion },
    { instructions: describeTools(withheld), capabilities: { tools: {} } },
  );
  const interrupts = listenForInterrupts(terminal.tell, () => 'runs end by themselves', 'ending the runs of tools');
  const runs = new Runs(reach, options.output, interrupts.signal);
  for (const each of offered) {
    server.registerTool(
      each.name,
      {
        description: each.description,
        inputSchema: each.input,
        annotations: {
          readOnlyHint: each.effect !== 'changes-models',
          destructiveHint: false,
          idempotentHint: each.effect === 'reads',
          openWorldHint: each.usesServer,
        },
      },
      (input: unknown, context: ServerContext) => runs.call(each, input as never, context),
    );
  }
  const transport = new StdioServerTransport();
  const closed = new Promise<void>((resolve) => {
    server.server.onclose = resolve;
    interrupts.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await server.connect(transport);
  terminal.tell(`serving ${offered.map(({ name }) => name).join(', ')} to an agent`);
  await closed;
  await runs.end();
  await server.close();
  interrupts.release();
  return interrupts.signal.aborted ? exitCodes.interrupted : exitCodes.done;
}

function describeTools(withheld: readonly Tool[]): string {
  const flags: Readonly<Record<ToolEffect, string>> = {
    reads: '',
    'sends-load': '--allow-load',
    'changes-models': '--allow-changes',
  };
  return [
    'tritune tunes and measures models that NVIDIA Triton Inference Server serves. Figures come with 95 % intervals: quote them.',
    'Begin with explain, which sends no request to a model.',
    ...withheld.map(
      ({ name, effect }) => `The tool ${name} is not offered: a person must start this with ${flags[effect]}.`,
    ),
  ].join(' ');
}

/** The runs of tools: each is a process of its own, and only one of them loads the server. */
class Runs {
  readonly #reach: readonly string[];
  readonly #output: string;
  readonly #ended = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  #isLoading = false;

  constructor(reach: readonly string[], output: string, signal: AbortSignal) {
    this.#reach = reach;
    this.#output = output;
    signal.addEventListener('abort', () => this.#ended.abort(), { once: true });
  }

  /** Interrupts all runs, and waits until they have put everything back. */
  async end(): Promise<void> {
    this.#ended.abort();
    await Promise.allSettled(this.#running);
  }

  async call(tool: Tool, input: never, context: ServerContext): Promise<CallToolResult> {
    const isLoad = tool.effect !== 'reads';
    if (isLoad && this.#isLoading) return failed('another run sends load to the server; wait for it, or cancel it');
    if (isLoad) this.#isLoading = true;
    const run = this.#run(tool, input, context);
    this.#running.add(run);
    try {
      return await run;
    } catch (error) {
      return failed(formatMessage(error));
    } finally {
      this.#running.delete(run);
      if (isLoad) this.#isLoading = false;
    }
  }

  async #run(tool: Tool, input: never, { mcpReq }: ServerContext): Promise<CallToolResult> {
    const isKept = tool.effect === 'changes-models';
    const folder = isKept ? await this.#newFolder(tool.name) : await mkdtemp(join(tmpdir(), 'tritune-mcp-'));
    const lines: string[] = [];
    const progress = startProgress(mcpReq, () => lines.at(-1) ?? tool.name);
    try {
      const { words, document, seconds } = tool.toRun(input, folder);
      const [command = '', ...rest] = words;
      const reach = tool.usesServer ? this.#reach : [];
      progress.total = seconds;
      const { exitCode } = await runProgram([process.execPath, entryPath('cli/main'), command, ...reach, ...rest], {
        signal: AbortSignal.any([mcpReq.signal, this.#ended.signal]),
        onLine: (line) => {
          lines.push(inertLine(line));
          if (lines.length > 2 * MAX_LINES) lines.splice(0, MAX_LINES);
          progress.report();
        },
      });
      // A folder that is removed is nobody's business.
      const shown = isKept ? lines : lines.filter((line) => !line.includes(folder));
      const text = shown.slice(-MAX_LINES).join('\n');
      if (exitCode === null || !tool.answers.includes(exitCode)) return failed(text || `ended with ${exitCode}`);
      const structuredContent = document === null ? undefined : await readDocument(document);
      const where = isKept ? `\nresults are in ${folder}` : '';
      return {
        content: [{ type: 'text', text: `${text}${where}` }],
        ...(structuredContent && { structuredContent }),
      };
    } finally {
      progress.stop();
      if (!isKept) await rm(folder, { recursive: true, force: true });
    }
  }

  async #newFolder(name: string): Promise<string> {
    await makeFolder(this.#output);
    return mkdtemp(join(this.#output, `mcp-${name}-${new Date().toISOString().slice(0, 19).replaceAll(':', '-')}-`));
  }
}

const PROGRESS_MS = 2000;

/**
 * Tells an agent that wants to know, from time to time and whenever asked to, how many seconds have
 * passed, of how many (`total`, if it is known), and what is being done.
 */
function startProgress({ _meta, notify }: ServerContext['mcpReq'], describe: () => string) {
  const token = _meta?.progressToken;
  const startMs = performance.now();
  const state = { total: null as number | null, report, stop: () => clearInterval(timer) };
  function report(): void {
    if (token === undefined) return;
    const { total } = state;
    const progress = (performance.now() - startMs) / 1e3;
    const params = { progressToken: token, progress, ...(total !== null && { total }), message: describe() };
    // An agent that does not listen any more loses nothing.
    void notify({ method: 'notifications/progress', params }).catch(() => undefined);
  }
  const timer = setInterval(report, PROGRESS_MS);
  return state;
}

const failed = (text: string): CallToolResult => ({ content: [{ type: 'text', text }], isError: true });

/** Returns the JSON of a result; undefined if it is too long, or there is none. */
async function readDocument(path: string): Promise<JsonObject | undefined> {
  const text = await readText(path, fileLimits.results).catch(() => '');
  return text === '' || text.length > MAX_DOCUMENT_LETTERS ? undefined : (JSON.parse(text) as JsonObject);
}
