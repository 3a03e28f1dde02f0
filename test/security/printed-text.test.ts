import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { errorLine } from '#base/error-line.ts';
import { TrituneError } from '#base/errors.ts';
import { inertJson, inertLog, listed } from '#base/format.ts';
import { typedLine } from '#base/shell-words.ts';
import { processTerminal } from '#cli/terminal.ts';
import { createLines } from '#headless/lines.ts';
import { nextSteps } from '#headless/next-steps.ts';
import { reportHtml } from '#report/report-html.ts';
import { foldStudy } from '#study/records/fold.ts';
import type { StudyStarted } from '#study/records/records.ts';
import { summarize } from '#study/summary/summary.ts';
import { parseConfigText } from '#triton/config/parser.ts';
import { printConfigText } from '#triton/config/printer.ts';
import { modelUnknown } from '#triton/wire/call-errors.ts';
import { WireFault } from '#triton/wire/wire.ts';
import { HOSTILE, hostileRecords } from '../support/hostile-study.ts';
import { sourcesIn } from '../support/import-graph.ts';

/** Whatever could steer a terminal, break a line or turn words around. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const ACTIVE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/;

/** Names as an attacker chooses them, and any others. */
const hostileName = fc.oneof(
  fc.constantFrom(
    ...['a; touch x; #', '$(touch x)', '`touch x`', "it's", '"quoted"', 'a b', '~', '=ls', '-rf', '*', '!!', 'a\\b'],
    ...['a\nb', '::error::x', '##[error]x', '##vso[task.complete]', HOSTILE, "\u202e'\\\n7", '\u00e9\u4e2d\u{1f600}'],
  ),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 20 }).map((text) => text.toWellFormed()),
);

/** Between the words of two lines. */
const END = 'the end of a line';

/** The words that bash reads in each of the lines. One bash reads them all: starting it is slow. */
const wordsIn = (lines: readonly string[]): readonly string[][] => {
  const script = lines.map((line) => `printf '%s\\0' ${line}\nprintf '%s\\0' '${END}'`).join('\n');
  return execFileSync('bash', ['-e', '-c', script], { encoding: 'utf8', cwd: '/' })
    .split(`${END}\0`)
    .slice(0, -1)
    .map((words) => words.split('\0').slice(0, -1));
};

/** The commands that a CI obeys in a log, as the runners of GitHub, Azure and TeamCity read it. */
const ciCommandsIn = (log: string): string[] =>
  log.split(/\r\n|\n|\r/).filter((line) => line.trimStart().startsWith('::') || /##(?:\w*)\[/.test(line));

describe('names in commands to type', () => {
  it('are read back by a shell as they are, on one line', () => {
    const words = fc.array(hostileName, { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(words, (names) => {
        const line = typedLine(names);
        expect(line).not.toMatch(ACTIVE);
        // No shell can hold a NUL.
        expect(wordsIn([line])).toEqual([names.map((name) => name.replaceAll('\0', ''))]);
      }),
      { numRuns: 60 },
    );
  });

  it('are those of the study in every step after a run', () => {
    const started = foldStudy(hostileRecords('m')).started;
    const point = { ...summarize(foldStudy(hostileRecords('m')), 'j') };
    fc.assert(
      fc.property(hostileName, hostileName, (given, folder) => {
        const [model, directory] = [given.replaceAll('\0', 'x'), `/${folder.replaceAll('\0', 'x')}`];
        const server = { ...started.server, url: `${model}:1`, controlUrl: `${model}:1`, emulated: null };
        const own: StudyStarted = { ...started, model, server, spec: { ...started.spec, model } };
        const commands = new Set<string>();
        for (const verdict of ['better', 'unconfirmed', 'not-measured', 'nothing-better'] as const)
          for (const interrupted of [true, false]) {
            const summary = { ...point, verdict, interrupted, emulated: null };
            const run = {
              started: own,
              emitted: [`${model}/config.pbtxt`],
              summary: `${directory}/s.json`,
              report: null,
            };
            for (const step of nextSteps(summary, run)) {
              const [, line] = /^[^:]+: (tritune .*|cp .*|sh .*|\S*node .*)$/s.exec(step) ?? [];
              if (line === undefined) continue;
              expect(line).not.toMatch(ACTIVE);
              for (const command of commandsIn(line)) commands.add(command);
            }
          }
        const typed = [...commands];
        const read = wordsIn(typed);
        expect(read).toHaveLength(typed.length);
        for (const [index, words] of read.entries()) {
          const isKnown =
            words.includes(model) ||
            words.some((word) => word.startsWith(directory)) ||
            typed[index]?.includes(' compare ');
          expect(isKnown, typed[index]).toBe(true);
        }
      }),
      { numRuns: 15 },
    );
  });
});

/** The commands of a line of several, whose words have no such sign outside quotes. */
const commandsIn = (line: string): string[] => {
  const parts = line.split(' && ');
  return parts.every((part) => /^(?:\S*node |tritune |cp |sh )/.test(part)) ? parts : [line];
};

describe('foreign text in the log of a CI', () => {
  it('is no command to it', () => {
    const text = fc.oneof(
      hostileName,
      fc.constantFrom('x\n::stop-commands::t', ' \t::error::x', ':::set-env::', '###[group]x'),
    );
    fc.assert(
      fc.property(fc.array(text, { maxLength: 5 }), (texts) => {
        expect(ciCommandsIn(inertLog(texts.join('\n')))).toEqual([]);
        const json = inertJson(JSON.stringify(texts));
        expect(ciCommandsIn(json)).toEqual([]);
        expect(JSON.parse(json)).toEqual(texts);
      }),
    );
  });

  it('is none in whatever a command prints, but for those that are meant', () => {
    const written: string[] = [];
    const spy = (stream: NodeJS.WriteStream) =>
      vi.spyOn(stream, 'write').mockImplementation((text) => {
        written.push(String(text));
        return true;
      });
    const [out, err] = [spy(process.stdout), spy(process.stderr)];
    const words = 'x\n::error::fooled\n  ::stop-commands::t\n##[error]fooled ##vso[task.complete result=Failed;]';
    try {
      const print = createLines((line) => processTerminal.print(line));
      for (const record of hostileRecords(words)) print(record);
      processTerminal.print(words);
      processTerminal.tell(words);
      processTerminal.tell(errorLine(new TrituneError('SERVER_FAILED', words, words)));
      processTerminal.print('::error title=tritune::meant', 'ci-command');
    } finally {
      out.mockRestore();
      err.mockRestore();
    }
    expect(written.join('')).toContain('fooled');
    expect(ciCommandsIn(written.join(''))).toEqual(['::error title=tritune::meant']);
  });

  it('is none in a config, which says the same', () => {
    const config = { name: '##vso[x]', parameters: { '##[error]': { string_value: '::error::x\n::error::y ###[z]' } } };
    const text = printConfigText(config);
    expect(ciCommandsIn(text)).toEqual([]);
    expect(parseConfigText(text, 'config.pbtxt').config).toEqual(config);
  });
});

describe('foreign text in a report', () => {
  it('has no control character and no direction mark, plain or in data', () => {
    const study = foldStudy(hostileRecords());
    const page = reportHtml(study, summarize(study, 'journal.jsonl'), HOSTILE);
    const found = [...page].filter((character) => ACTIVE.test(character) && character !== '\n' && character !== '\t');
    expect(found).toEqual([]);
    expect(page).toContain('fooled');
  });
});

describe('long lists and messages', () => {
  const names = Array.from({ length: 500_000 }, (_, index) => `model-${String(index).padStart(6, '0')}`);

  it('name a few, and how many more there are', () => {
    expect(listed(names.slice(0, 3))).toBe('model-000000, model-000001, model-000002');
    expect(listed(names)).toMatch(/^model-000000, .*, model-000009 … and 499,990 more$/);
    expect(listed(['x'.repeat(5_000_000)]).length).toBeLessThan(200);
    const error = modelUnknown({ url: 'h:1' } as never, 'm', names, new WireFault('not-found', 'x'));
    expect(errorLine(error).length).toBeLessThan(400);
  });

  it('are cut where a server says a message of megabytes', () => {
    const line = errorLine(new TrituneError('SERVER_FAILED', 'x'.repeat(4_400_000), 'read its log'));
    expect(line.length).toBeLessThan(10_000);
    expect(line).toContain('read its log');
  });
});

describe('code', () => {
  it('prints through the terminal alone, which makes text inert', () => {
    const src = join(import.meta.dirname, '../../src');
    const prints = /process\.std(?:out|err)\.write|\bconsole\.\w+\(/;
    const found = sourcesIn(src).filter((file) => prints.test(readFileSync(file, 'utf8')));
    // The supervisor writes into the log of its server.
    expect(found.map((file) => relative(src, file)).sort()).toEqual(['cli/terminal.ts', 'launch/supervise.ts']);
  });

  it('quotes for shells in one place', () => {
    const src = join(import.meta.dirname, '../../src');
    const found = sourcesIn(src).filter((file) => readFileSync(file, 'utf8').includes("'\\\\''"));
    // Its completion quotes descriptions of our own for zsh.
    const places = found.map((file) => relative(src, file)).sort();
    expect(places).toEqual(['base/shell-words.ts', 'cli/commands/completion-zsh.ts']);
  });
});
