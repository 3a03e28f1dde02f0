import { createServer } from 'node:http';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { csvRows } from '#base/csv.ts';
import { TrituneError } from '#base/errors.ts';
import { toFailure } from '#cli/failure.ts';
import { closingLines } from '#headless/closing.ts';
import { createJsonLines } from '#headless/json-lines.ts';
import { createLines } from '#headless/lines.ts';
import { seriesLines } from '#headless/series-lines.ts';
import { csvText } from '#report/csv.ts';
import { decideGate } from '#report/gate/decide.ts';
import { gateAnnotations, gateJUnit, gateMarkdown } from '#report/gate/documents.ts';
import { analyzerTables } from '#report/model-analyzer-csv.ts';
import { reportHtml } from '#report/report-html.ts';
import { paretoCsv, resultsCsv } from '#report/results-csv.ts';
import { foldStudy } from '#study/records/fold.ts';
import { summarize } from '#study/summary/summary.ts';
import { parseConfigText } from '#triton/config/parser.ts';
import { printConfigText } from '#triton/config/printer.ts';
import { openTui } from '#tui/open.ts';
import { createRecordingLines } from '../../lab/recording/recording-lines.ts';
import { runCli } from '../support/cli.ts';
import { HOSTILE, hostileRecords } from '../support/hostile-study.ts';
import { listen } from '../support/misbehaving-server.ts';
import { VirtualTerminal } from '../tui/virtual-terminal.ts';

vi.hoisted(() => {
  process.env.FORCE_COLOR = '1';
});

/**
 * Whatever could steer a terminal, break a line or turn words around, but for the line feed of ours
 * at the end.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const ACTIVE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/;

const records = hostileRecords();

/** The lines are as many as of a study without such words, and none of them does anything. */
function expectInert(lines: readonly string[], harmless: readonly string[]): void {
  for (const line of lines) expect(line).not.toMatch(ACTIVE);
  expect(lines).toHaveLength(harmless.length);
  expect(lines.join('\n')).toContain('fooled');
}

describe('hostile words on a terminal', () => {
  const linesOf = (of: typeof records): string[] => {
    const lines: string[] = [];
    const onEvent = createLines((line) => lines.push(line));
    for (const record of of) onEvent(record);
    return lines;
  };
  const closingOf = (of: typeof records): string[] => {
    const { best: _, ...paths } = { best: null, summary: 's.json', config: null };
    return closingLines(summarize(foldStudy(of), 'journal.jsonl'), paths);
  };
  const recordingOf = (of: typeof records): string[] => {
    const lines: string[] = [];
    const show = createRecordingLines({
      print: (line) => lines.push(line),
      status: () => undefined,
      pointsLeft: () => 1,
    });
    for (const record of of) show(record);
    return lines;
  };
  const seriesOf = (text: string): string[] => {
    const error = { code: 'SERVER_FAILED', message: text } as const;
    const entry = { ...summarize(foldStudy(hostileRecords(text)), ''), directory: 'm', error };
    const ranked = { model: entry.model, rank: 1, throughput: { value: 1, low: 1, high: 1 }, ofFirst: null };
    return seriesLines({ schemaVersion: 1, models: [entry as never], ranking: [ranked, ranked] }, 'runs');
  };

  it('do nothing in the lines of a run, its end, a recording and a series', () => {
    const harmless = hostileRecords('fooled');
    expectInert(linesOf(records), linesOf(harmless));
    expectInert(closingOf(records), closingOf(harmless));
    expectInert(recordingOf(records), recordingOf(harmless));
    expectInert(seriesOf(HOSTILE), seriesOf('fooled'));
  });

  it('do nothing in JSON lines, which say them all the same', () => {
    const lines: string[] = [];
    const print = createJsonLines((line) => lines.push(line));
    for (const record of records) print(record);
    for (const line of lines) expect(line).not.toMatch(ACTIVE);
    expect(lines.map((line) => JSON.parse(line))).toEqual(JSON.parse(JSON.stringify(records)));
  });

  it('do nothing in the line of an error', () => {
    const error = new TrituneError('SERVER_FAILED', HOSTILE, HOSTILE);
    for (const thrown of [error, new Error(HOSTILE)]) expect(toFailure(thrown, false).line).not.toMatch(ACTIVE);
  });

  it('do nothing when a server says them to the command', async () => {
    const server = createServer((_, response) => {
      response.writeHead(500, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: HOSTILE }));
    });
    const port = await listen(server as never);
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const args = [
      'profile',
      '-i',
      'http',
      '-m',
      HOSTILE.replaceAll('\u0000', ''),
      '-u',
      `127.0.0.1:${port}`,
      '--verbose',
    ];
    const { code, stdout, stderr } = await runCli(args);
    expect(code).toBe(4);
    expect(stderr).toContain('fooled');
    for (const line of `${stdout}${stderr}`.split('\n')) expect(line).not.toMatch(ACTIVE);
  });

  it.each([
    [80, 24],
    [200, 60],
  ])('do nothing on the screen at %i × %i', async (columns, rows) => {
    const terminal = new VirtualTerminal({ columns, rows });
    const { stdin } = terminal;
    const tui = openTui({
      stdin,
      stdout: terminal.stdout,
      hasColours: true,
      earlier: [],
      commands: null,
      nowMs: () => 0,
      interrupt: () => undefined,
      exportConfig: async () => HOSTILE,
    });
    onTestFinished(() => tui.close());
    for (const record of records) {
      tui.onEvent(record);
      await tui.settled();
    }
    tui.tell(HOSTILE);
    for (const key of ['\r', '?', '\u001b[B', '\u001b[B', '\r', 'g']) {
      stdin.push(key);
      await new Promise((wake) => setTimeout(wake, 5));
      await tui.settled();
    }
    tui.end(HOSTILE);
    await tui.settled();
    // What the screen itself sends: colours, moves and modes (CSI), and line breaks.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    const others = terminal.written.replace(/\u001b\[[?>=\d;]*[A-Za-ln-z]|\u001b\[[\d;]*m|[\r\n]/g, '');
    expect(others).not.toMatch(ACTIVE);
    expect(terminal.written).toContain('fooled');
    expect(terminal.written).not.toContain('\u001b]');
  });

  it('do nothing in a config.pbtxt, which says them all the same', () => {
    const config = { name: HOSTILE, parameters: { [HOSTILE]: { string_value: HOSTILE } } };
    const text = printConfigText(config);
    for (const line of text.split('\n')) expect(line).not.toMatch(ACTIVE);
    expect(parseConfigText(text, 'config.pbtxt').config).toEqual(config);
  });
});

describe('hostile words in documents', () => {
  const formulas = ['=cmd|"/c calc"!A1', '+1+cmd', '-2+3', '@SUM(A1)', '\t=1', '\r=1', '=1\n=2'];

  it('are no formulas of a spreadsheet', () => {
    for (const formula of formulas) {
      const [row] = csvRows(
        csvText([
          ['a', 'b'],
          [formula, 1],
        ]),
      );
      expect(row?.a).toMatch(/^'/);
      const study = foldStudy(hostileRecords(formula));
      const tables = [resultsCsv(study), paretoCsv(study.front), ...analyzerTables(study).map(({ text }) => text)];
      for (const table of tables) {
        const cells = csvRows(table).flatMap((each) => [...Object.keys(each), ...Object.values(each)]);
        const active = cells.filter((cell) => /^[=+\-@\t\r]/.test(cell) && !Number.isFinite(Number(cell)));
        expect(active).toEqual([]);
      }
    }
    expect(csvText([[-1.5, '-2', '1e-3']])).toBe('-1.5,-2,1e-3\r\n');
  });

  it('are no markup of Markdown, no command of a workflow, and no XML', () => {
    const words = `![x](http://evil.test/x) <img src=x> | a_b *c* \`d\`\n::error::${HOSTILE}`;
    const document = {
      kind: 'profile',
      isEmulated: false,
      flaw: words,
      readings: [],
      assumptions: [],
      certificate: null,
      machine: null,
      times: [],
    } as const;
    const decision = decideGate([{ ...document, model: words, flaw: null }], [{ ...document, model: `${words}!` }], {
      tolerance: 0.02,
      confidence: 0.99,
      mustSee: 0.1,
    });
    expect(decision.faults.length).toBeGreaterThan(0);
    const markdown = gateMarkdown(decision);
    expect(markdown).not.toMatch(/(?<!\\)[<>[\]`]/);
    for (const line of markdown.split('\n')) expect(line).not.toMatch(ACTIVE);
    expect(markdown).not.toMatch(/^\s*::/m);
    for (const line of gateAnnotations(decision)) {
      expect(line).toMatch(/^::(error|warning) title=tritune::/);
      expect(line).not.toMatch(/[\r\n]/);
    }
    const xml = gateJUnit(decision);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    expect(xml).not.toMatch(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/);
    expect(xml.match(/<(?!\/?(?:testsuites?|testcase|failure)\b|\?xml)/g)).toBeNull();
    expect(xml.match(/"[^"]*"/g)?.some((value) => /[<>]/.test(value))).toBe(false);
  });

  it('are text in the page, also those that end lines of scripts', () => {
    const words = `</script><script>fooled()</script>\u2028fooled()\u2029"'\`\${fooled()}<!--]]>${HOSTILE}`;
    const records = hostileRecords(words);
    const study = foldStudy(records);
    const page = reportHtml(study, summarize(study, 'journal.jsonl'), words);
    const scripts = [...page.matchAll(/<script[^>]*>([\s\S]*?)<\/script>/g)];
    for (const [whole, text] of scripts) {
      if (whole.startsWith('<script type="application/json"')) expect(() => JSON.parse(text ?? '')).not.toThrow();
      else expect(text).not.toContain('fooled');
    }
    expect(page.match(/<script/g)?.length).toBe(scripts.length);
    expect(page).toMatch(
      /<meta http-equiv="Content-Security-Policy" content="default-src 'none'; [^"]*script-src 'sha256-/,
    );
    expect(page.match(/ on\w+=/g)).toBeNull();
  });
});
