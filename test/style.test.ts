import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '..');
const sources = execFileSync('git', ['ls-files', '*.ts', '*.tsx'], { cwd: root, encoding: 'utf8' })
  .split('\n')
  .filter((path) => path !== '');

/** Returns the places of lines that match, as FILE:LINE. */
const linesLike = (isLike: (line: string) => boolean): readonly string[] =>
  sources.flatMap((path) =>
    readFileSync(join(root, path), 'utf8')
      .split('\n')
      .flatMap((line, index) => (isLike(line) ? [`${path}:${index + 1}`] : [])),
  );

it('ends comments at column 100', () => {
  const comment = /^\s*(\/\/ (?!biome-ignore)|\/\*\*|\* )/;
  expect(linesLike((line) => line.length > 100 && comment.test(line))).toEqual([]);
});

it('writes properties instead of spreading a literal object', () => {
  expect(linesLike((line) => /\.\.\.\{( |$)/.test(line))).toEqual([]);
});

it('says MAX_ and MIN_ for limits', () => {
  const other = new RegExp(`\\b(${['MO', 'LEA'].map((start) => `${start}ST`).join('|')})(_[A-Z]|\\b)`);
  expect(linesLike((line) => other.test(line))).toEqual([]);
});

it('names values by what they are', () => {
  const declared = /\b(?:const|let|function) (?:asked|given|told|own|found|wanted)\b/;
  expect(linesLike((line) => declared.test(line)).filter((place) => place.startsWith('src/'))).toEqual([]);
});

it('names functions by verbs', () => {
  const declared = /\b(?:function\*? \w+Of\b|const \w+Of = (?:async )?(?:\(|<|\w+ =>))/;
  expect(linesLike((line) => declared.test(line)).filter((place) => place.startsWith('src/'))).toEqual([]);
});

it('exports each name of a type from one file', () => {
  const files = new Map<string, string[]>();
  for (const path of sources.filter((each) => each.startsWith('src/')))
    for (const [, name = ''] of readFileSync(join(root, path), 'utf8').matchAll(
      /^export (?:interface|type|class) (\w+)/gm,
    ))
      files.set(name, [...(files.get(name) ?? []), path]);
  expect([...files].filter(([, paths]) => paths.length > 1)).toEqual([]);
});
