import { Text } from 'ink';
import { createElement, type ReactElement } from 'react';
import { inertLine } from '#base/format.ts';
import { toLook } from './colours.ts';
import type { Row } from './rows.ts';

/**
 * Returns a row as Ink draws it. The panels have already cleaned foreign text. Cleans it again, so
 * that text that one of them missed cannot move the terminal's cursor.
 */
export function drawnRow(line: Row, hasColours: boolean, key?: number): ReactElement {
  const spans = line.map(({ text, tone }, index) =>
    createElement(Text, { key: index, ...toLook(tone, hasColours) }, inertLine(text)),
  );
  return createElement(Text, { key, wrap: 'truncate' }, ...spans);
}
